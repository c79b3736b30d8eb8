"""What a process has used, read from ``/proc``; and how busy the machine is."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(process_id: int) -> float:
    """Seconds of processor time so far, in user mode and in the kernel."""
    after_name = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS_PER_S


def resident_mib(process_id: int) -> float:
    found = re.search(r"VmRSS:\s*(\d+) kB", Path(f"/proc/{process_id}/status").read_text())
    if found is None:
        raise RuntimeError(f"the process {process_id} has ended")
    return int(found[1]) / 1024


def load() -> str:
    """Running processes, on average over a minute, and the processors there are."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
