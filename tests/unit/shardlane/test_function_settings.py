from __future__ import annotations

from dataclasses import fields

import pytest

from shardlane import SettingsError
from shardlane.parking.memory_store import MemoryParkingStore
from shardlane.policy import Action
from shardlane.settings import FunctionSettings, failure_policy

ENVIRON = {
    "LABEL": "lambda-efo",
    "WORKERS": "16",
    "LOG_KEYS": "true",
    "POWERTOOLS_SERVICE_NAME": "order-latency",
    "POWERTOOLS_METRICS_NAMESPACE": "Shardlane/Lab",
    "POWERTOOLS_LOG_LEVEL": "debug",
    "FAILURE_POLICY": "park",
    "PARKING_TABLE": "lot",
    "PARKING_CONSUMER": "billing",
    "PARKING_BUCKET": "payloads",
    "AWS_REGION": "eu-west-1",
}


def test_reads_the_environment() -> None:
    assert FunctionSettings.from_environ(ENVIRON) == FunctionSettings(
        label="lambda-efo",
        workers=16,
        log_keys=True,
        powertools_service_name="order-latency",
        powertools_metrics_namespace="Shardlane/Lab",
        powertools_log_level="DEBUG",
        failure_policy="park",
        parking_table="lot",
        parking_consumer="billing",
        parking_bucket="payloads",
    )


def test_a_field_is_read_from_the_variable_of_its_name() -> None:
    read: list[str] = []

    class Spy(dict[str, str]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            read.append(key)
            return super().get(key, default)

    FunctionSettings.from_environ(Spy(ENVIRON))
    assert sorted(read) == sorted(field.name.upper() for field in fields(FunctionSettings))


def test_most_settings_have_a_default() -> None:
    required = {
        name: ENVIRON[name]
        for name in ("LABEL", "POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE")
    }
    settings = FunctionSettings.from_environ(required)
    assert (settings.workers, settings.log_keys, settings.powertools_log_level) == (
        1,
        False,
        "INFO",
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("LABEL", None, "1 to 64"),
        ("LABEL", "", "1 to 64"),
        ("LABEL", "two words", "1 to 64"),
        ("POWERTOOLS_SERVICE_NAME", "", "1 to 64"),
        ("POWERTOOLS_METRICS_NAMESPACE", "", "1 to 255"),
        ("WORKERS", "0", "1 to 256"),
        ("WORKERS", "257", "1 to 256"),
        ("WORKERS", "-1", "1 to 256"),
        ("WORKERS", "two", "1 to 256"),
        ("WORKERS", "²", "1 to 256"),
        ("WORKERS", "", "1 to 256"),
        ("LOG_KEYS", "yes", "true, false, 1 or 0"),
        ("POWERTOOLS_LOG_LEVEL", "LOUD", "DEBUG, INFO"),
    ],
)
def test_an_error_names_the_variable_and_what_is_allowed(
    name: str, value: str | None, allowed: str
) -> None:
    environ = {key: each for key, each in ENVIRON.items() if key != name}
    if value is not None:
        environ[name] = value
    with pytest.raises(SettingsError, match=f"^{name} is .*allowed: .*{allowed}"):
        FunctionSettings.from_environ(environ)


def test_without_a_word_about_it_the_policy_is_stop() -> None:
    assert failure_policy({}).action is Action.STOP


@pytest.mark.parametrize(("name", "action"), [("stop", Action.STOP), ("drop", Action.DROP)])
def test_a_policy_that_does_not_park_needs_no_lot(name: str, action: Action) -> None:
    policy = failure_policy({"FAILURE_POLICY": name, "PARKING_TABLE": "lot"})
    assert (policy.action, policy.lot) == (action, None)


def test_the_lot_of_the_environment_is_the_policys(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, str | None]] = []

    def store(table: str, bucket: str | None) -> MemoryParkingStore:
        opened.append((table, bucket))
        return MemoryParkingStore()

    monkeypatch.setattr("shardlane.parking.dynamodb_store.DynamoDBParkingStore", store)
    policy = failure_policy(ENVIRON | {"PARKING_BUCKET": ""})
    assert policy.action is Action.PARK
    assert policy.lot is not None
    policy.lot.open()
    assert (policy.lot.consumer, opened) == ("billing", [("lot", None)])


@pytest.mark.parametrize("name", ["PARKING_TABLE", "PARKING_CONSUMER"])
def test_parking_without_a_lot_names_what_is_missing(name: str) -> None:
    environ = {key: value for key, value in ENVIRON.items() if key != name}
    with pytest.raises(SettingsError, match=f"{name} is not set, and FAILURE_POLICY is park"):
        failure_policy(environ)


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(SettingsError, match=r"FAILURE_POLICY is 'skip'; allowed: stop, park, drop"):
        failure_policy({"FAILURE_POLICY": "skip"})
