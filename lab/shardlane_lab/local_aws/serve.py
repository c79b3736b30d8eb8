"""``python -m shardlane_lab.local_aws.serve PORT``: a process of its own, so that moto's work
does not delay what the lab measures. It says its port in one line of JSON and ends when its
standard input does, which happens when the lab is gone, however it went."""

from __future__ import annotations

import json
import sys

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server

from shardlane_lab.local_aws.locked_application import LockedApplication
from shardlane_lab.processes.child import end_with_parent

HOST = "127.0.0.1"


class Handler(MotoRequestHandler):
    """Keeps connections open, and quiet."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Head and body leave in two writes; with the algorithm each answer would wait 40 ms."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing: an answer's status is the client's business."""


def make(port: int) -> BaseWSGIServer:
    """Raises ``OSError`` if the port is taken."""
    application = LockedApplication(DomainDispatcherApplication(create_backend_app))
    return make_server(HOST, port, application, threaded=True, request_handler=Handler)


def main() -> None:
    try:
        server = make(int(sys.argv[1]))
    except (OSError, SystemExit) as error:
        _say({"error": str(error)})
        sys.exit(1)
    end_with_parent()
    _say({"port": server.port})
    server.serve_forever()


def _say(values: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
