"""How a command line ends, whatever happens in its command: a message and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def exit_status(program: str, execute: Callable[[], int], problem: type[Exception]) -> int:
    """What ``execute`` returns; 2 with a message for a ``problem``, which a person can mend; 1 if
    nobody reads the output any more; 130 after Ctrl-C. Anything else is raised: whoever mends it
    needs the trace."""
    try:
        return execute()
    except problem as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has enough, as `| head` does. Nothing more can be written there,
        # and Python would try once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"{program}: stopped", file=sys.stderr)
        return 130
