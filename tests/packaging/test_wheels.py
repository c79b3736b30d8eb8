"""The two wheels work outside this repository, in an environment that has nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEEL_OF = {"shardlane": ROOT, "shardlane_lab": ROOT / "lab"}

pytestmark = pytest.mark.slow("builds both wheels and installs them with what they depend on")


def run(*command: str | Path, folder: Path, **more: str) -> str:
    kept = {name: os.environ[name] for name in os.environ if not name.startswith("AWS_")}
    kept.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=kept | more,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    for source in WHEEL_OF.values():
        run(
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", source),
            *("--wheel-dir", folder),
            folder=folder,
        )
    return {name: next(folder.glob(f"{name}-*.whl")) for name in WHEEL_OF}


def made_environment(folder: Path, *what: str | Path) -> Path:
    """A virtual environment's interpreter, with ``what`` and what that depends on. uv's cache
    makes it seconds; pip does it where there is no uv."""
    run(sys.executable, "-m", "venv", folder / "env", folder=folder)
    python = folder / "env" / "bin" / "python"
    installers = (
        (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python),
        (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
    )
    run(*installers[0 if find_spec("uv") else 1], *what, folder=folder)
    return python


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheels_hold_their_packages_and_nothing_of_the_repository_beside(
    wheels: dict[str, Path],
) -> None:
    for name, wheel in wheels.items():
        roots = {entry.split("/")[0] for entry in names_in(wheel)}
        packages = {root for root in roots if not root.endswith(".dist-info")}
        assert name in packages
        assert packages <= {name, "shardlane_cdk"}
        assert not [entry for entry in names_in(wheel) if "__pycache__" in entry]


def test_the_runtime_wheel_processes_a_batch_with_powertools_alone(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    python = made_environment(tmp_path, wheels["shardlane"])
    program = textwrap.dedent("""
        import base64, importlib.util, json
        from aws_lambda_powertools.utilities.batch import process_partial_response
        from shardlane import KeyedBatchProcessor, Record

        assert importlib.util.find_spec("boto3") is None, "this environment should have no boto3"

        def record(number, key, value):
            return {
                "eventSource": "aws:kinesis", "eventVersion": "1.0", "awsRegion": "eu-west-1",
                "eventID": f"shardId-000000000000:{number}", "eventName": "aws:kinesis:record",
                "eventSourceARN": "arn:aws:kinesis:eu-west-1:111122223333:stream/orders",
                "invokeIdentityArn": "arn:aws:iam::111122223333:role/reader",
                "kinesis": {
                    "kinesisSchemaVersion": "1.0", "partitionKey": key, "sequenceNumber": number,
                    "data": base64.b64encode(json.dumps(value).encode()).decode(),
                    "approximateArrivalTimestamp": 1_700_000_000.123,
                },
            }

        def handle(record: Record) -> None:
            if record.json() == "poison":
                raise ValueError("no order")

        event = {"Records": [record("1", "a", 1), record("2", "b", "poison"), record("3", "b", 3)]}
        print(json.dumps(process_partial_response(
            event=event, record_handler=handle, processor=KeyedBatchProcessor(), context=None)))
    """)
    answer = run(python, "-c", program, folder=tmp_path).splitlines()[-1]
    assert answer == '{"batchItemFailures": [{"itemIdentifier": "2"}]}'


def test_the_lab_wheel_brings_the_fixture_the_data_and_the_commands(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    python = made_environment(tmp_path, *wheels.values(), "pytest")
    (tmp_path / "orders.py").write_text(
        textwrap.dedent("""
        from aws_lambda_powertools.utilities.batch import process_partial_response
        from shardlane import FailurePolicy, KeyedBatchProcessor

        processor = KeyedBatchProcessor(on_failure=FailurePolicy.drop())
        seen = []

        def handle(record):
            seen.append(record.json()["id"])

        def handler(event, context):
            return process_partial_response(
                event=event, record_handler=handle, processor=processor, context=context)
        """),
        encoding="utf-8",
    )
    (tmp_path / "test_orders.py").write_text(
        textwrap.dedent("""
        import orders

        def test_a_bad_order_is_dropped_alone(kinesis_mapping):
            trial = kinesis_mapping(orders.handler, report_batch_item_failures=True)
            trial.put_all([({"id": 1}, "alice"), ("not JSON", "bob"), ({"id": 2}, "carol")])
            trial.settle()
            assert orders.seen == [1, 2]
            assert trial.on_failure == []
        """),
        encoding="utf-8",
    )
    told = run(python, "-m", "pytest", "-q", folder=tmp_path)
    assert "1 passed" in told
    bin_folder = python.parent
    assert "usage: shardlane" in run(bin_folder / "shardlane", "--help", folder=tmp_path)
    plan = run(bin_folder / "shardlane-lab", "plan", "--rate", "5", "--json", folder=tmp_path)
    assert json.loads(plan)["question"]["rate_per_s"] == 5
    shipped = names_in(wheels["shardlane_lab"])
    assert "shardlane_lab/experiments/round-1.toml" in shipped
