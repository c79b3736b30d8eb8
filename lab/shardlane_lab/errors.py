"""What the lab tells a person when it cannot go on.

LabError
├── ExperimentError   an experiment file names something that is not allowed
├── AssemblyError     the CDK app could not be synthesized
└── ProcessError      a process of the lab (producer, consumer) ended when it should not have
"""

from __future__ import annotations


class LabError(Exception):
    """A message for a person; the command prints it and ends with status 2."""


class ExperimentError(LabError):
    """Names the file, the field, the value and what is allowed."""


class AssemblyError(LabError):
    """Names the app and what it printed."""


class ProcessError(LabError):
    """Names the process, its exit status and the last lines it wrote."""
