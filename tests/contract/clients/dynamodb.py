"""moto's DynamoDB in a process of its own: prints its port, and runs until its input is closed."""

from __future__ import annotations

import sys

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
