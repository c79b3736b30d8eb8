"""botocore's own standard retries around a call that is throttled or not, without its sleep."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from botocore.retries import quota, standard

THROTTLE = {"Error": {"Code": "ProvisionedThroughputExceededException"}}


class BotocoreRetries:
    """As ``RetryingClient``, made of the installed botocore's classes; pauses in seconds."""

    def __init__(self, max_attempts: int, uniform: Callable[[], float]) -> None:
        adapter = standard.RetryEventAdapter()
        detector = standard.ThrottlingErrorDetector(adapter)
        self.quota = quota.RetryQuota()
        self._checker = standard.RetryQuotaChecker(self.quota, detector)
        self._policy = standard.RetryPolicy(
            standard.StandardRetryConditions(max_attempts=max_attempts),
            standard.ExponentialBackoff(
                random=uniform, service_name="kinesis", throttling_detector=detector
            ),
        )
        self._attempt = 1
        self._request: dict[str, Any] = {}

    def succeeded(self) -> None:
        self._checker.release_retry_quota(self._request, SimpleNamespace(status_code=200))
        self._attempt, self._request = 1, {}

    def refused(self) -> float | None:
        """None if the throttle surfaces."""
        context = standard.RetryContext(
            attempt_number=self._attempt,
            parsed_response=THROTTLE,
            http_response=SimpleNamespace(status_code=400, headers={}),
            request_context=self._request,
        )
        if self._policy.should_retry(context) and self._checker.acquire_retry_quota(context):
            self._attempt += 1
            return float(self._policy.compute_retry_delay(context))
        self._attempt, self._request = 1, {}
        return None
