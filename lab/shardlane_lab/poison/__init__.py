"""What one record that cannot be handled does to the keys around it, in virtual time: parked,
stopped at, or left to Powertools' own processor."""

from shardlane_lab.poison.poison_run import HandledRecord, PoisonRun, PoisonSetting, Policy
from shardlane_lab.poison.run import run_poison

__all__ = ["HandledRecord", "PoisonRun", "PoisonSetting", "Policy", "run_poison"]
