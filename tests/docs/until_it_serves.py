"""Runs a command that serves until it is stopped: waits for its first line, stops it with SIGTERM
and ends with its exit status. Used for the pages' blocks in place of a person's Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys


def main() -> int:
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        print(line, end="")
        process.send_signal(signal.SIGTERM)
        print(process.stdout.read(), end="")
    return process.returncode if line else 1


if __name__ == "__main__":
    sys.exit(main())
