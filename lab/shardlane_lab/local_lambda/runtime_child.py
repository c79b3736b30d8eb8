"""Runs inside the sandbox, before the handler: ``python -m
shardlane_lab.local_lambda.runtime_child HANDLER CONTROL_FD``.

It starts the real runtime client (``awslambdaric``) and keeps one thread on the control socket,
which the kernel closes when the parent goes away, however it went: so a killed lab leaves no
sandbox behind, not even one whose handler never returns. Only the standard library is imported
here, because what is imported here counts as the handler's cold start and memory.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path

MEMORY_QUESTION = b"m"


def peak_memory_kib() -> int:
    """Peak resident memory of this process; 0 where the system does not say.

    Linux's ``ru_maxrss`` would count the parent's pages too (it survives ``exec``), so the
    process' own high-water mark is read there; macOS has no ``/proc`` and counts bytes.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))
        return int(found.group(1)) if found else 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _serve(control: socket.socket) -> None:
    while control.recv(1) == MEMORY_QUESTION:
        control.sendall(b"%d\n" % peak_memory_kib())
    os.killpg(0, signal.SIGKILL)  # the sandbox leads a group of its own


def main() -> None:
    handler, control_fd = sys.argv[1], int(sys.argv[2])
    control = socket.socket(fileno=control_fd)
    threading.Thread(target=_serve, args=(control,), name="control", daemon=True).start()
    from awslambdaric.__main__ import main as run

    run(["awslambdaric", handler])


if __name__ == "__main__":
    main()
