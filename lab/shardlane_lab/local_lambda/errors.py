"""What the local Lambda tells a person or the mapping.

LabError
├── TemplateError          a template says something that cannot be run here
├── UnknownFunction        no function of that name in the template
├── MappingError           a mapping parameter outside the service's range
├── FilterError            a filter pattern that the service would refuse
├── MappingFailed          a mapping cannot read its stream any more
└── InvocationRefused      the service did not take the invocation (throttled, too large): the
                           function never saw it, and a mapping tries it again
"""

from __future__ import annotations

from collections.abc import Iterable

from shardlane_lab.errors import LabError


class TemplateError(LabError):
    """Names the template's resource and what was not understood."""


class UnknownFunction(LabError):
    """Names the function asked for and those that there are."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        listed = ", ".join(sorted(known)) or "none"
        super().__init__(f"no function named {name!r} in the template; it has: {listed}")


class MappingError(LabError):
    """Names the parameter, its value and the allowed range."""


class FilterError(LabError):
    """Names the pattern and what is wrong with it."""


class MappingFailed(LabError):
    """Names the function, the source and the service's refusal, which is its cause."""


class InvocationRefused(LabError):
    """``code`` is the service's: ``TooManyRequestsException``,
    ``RequestEntityTooLargeException``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
