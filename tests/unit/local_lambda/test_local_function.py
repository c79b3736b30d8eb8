"""The runtime: the real handler in the real runtime client."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from shardlane_lab.local_lambda.errors import InvocationRefused
from shardlane_lab.local_lambda.function import LocalFunction
from shardlane_lab.local_lambda.invoke_result import InvokeResult
from shardlane_lab.metric import Datum, dimensions
from tests.unit.local_lambda.sandbox_handlers import SandboxedHandler

PID = "import os\ndef handler(event, context):\n    return os.getpid()\n"


def gone(pid: int) -> bool:
    """Whether the process has ended; one that is waited for by nobody counts as ended."""
    status = Path(f"/proc/{pid}/status")
    if status.parent.parent.joinpath("self").exists():
        return not status.exists() or "State:\tZ" in status.read_text(encoding="ascii")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_handlers_answer_comes_back_as_json(sandboxed: SandboxedHandler) -> None:
    sandboxed.write("def handler(event, context):\n    return {'got': event['n'] + 1}\n")
    (result,) = sandboxed.invoke({"n": 41})
    assert result.payload == {"got": 42}
    assert result.error is None
    assert result.function_error is None
    assert not result.failed


def test_the_context_has_the_functions_fields(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(
        "def handler(event, context):\n"
        "    return [context.function_name, context.function_version,\n"
        "            context.memory_limit_in_mb, context.invoked_function_arn,\n"
        "            context.aws_request_id, context.log_group_name,\n"
        "            context.log_stream_name, context.get_remaining_time_in_millis()]\n"
    )
    sandboxed.options |= {"memory_mb": 256, "timeout_s": 7.0, "log_group": "/mine"}
    (result,) = sandboxed.invoke({})
    name, version, memory, arn, request_id, group, stream, remaining_ms = result.payload
    assert (name, version, memory, group) == ("orders", "$LATEST", "256", "/mine")
    assert arn == "arn:aws:lambda:us-east-1:000000000000:function:orders"
    assert request_id == result.request_id
    assert "[$LATEST]" in stream
    assert 5_000 < remaining_ms <= 7_000


def test_a_warm_sandbox_is_used_again(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(PID)
    cold, warm = sandboxed.invoke({}, {})
    assert cold.payload == warm.payload
    assert cold.init_duration_ms is not None
    assert cold.init_duration_ms > 0
    assert warm.init_duration_ms is None


def test_start_warms_a_sandbox(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(PID)

    async def work(function: LocalFunction) -> InvokeResult:
        await function.start()
        return await function.invoke({})

    assert sandboxed.use(work).init_duration_ms is None


MEETING = """
import os, pathlib, time
def handler(event, context):
    here = pathlib.Path(event["folder"])
    (here / event["me"]).touch()
    print("begun")
    while context.get_remaining_time_in_millis() > 1000:
        if (here / event["other"]).exists():
            return os.getpid()
        time.sleep(0.005)
    raise TimeoutError("the other invocation never came")
"""


def test_invocations_at_once_have_a_sandbox_each(
    sandboxed: SandboxedHandler, tmp_path: Path
) -> None:
    """Each waits for the other to have begun."""
    sandboxed.write(MEETING)

    async def work(function: LocalFunction) -> list[InvokeResult]:
        first = {"folder": str(tmp_path), "me": "a", "other": "b"}
        second = {"folder": str(tmp_path), "me": "b", "other": "a"}
        return list(await asyncio.gather(function.invoke(first), function.invoke(second)))

    first, second = sandboxed.use(work)
    assert not first.failed
    assert not second.failed
    assert first.payload != second.payload


def test_more_at_once_than_reserved_are_throttled(
    sandboxed: SandboxedHandler, tmp_path: Path
) -> None:
    sandboxed.write(MEETING)
    sandboxed.options["reserved_concurrency"] = 1
    seen: list[Datum] = []
    sandboxed.observer = seen.append

    async def work(function: LocalFunction) -> InvokeResult:
        event = {"folder": str(tmp_path), "me": "a", "other": "b"}
        running = asyncio.create_task(function.invoke(event))
        await asyncio.sleep(0)
        with pytest.raises(InvocationRefused, match="TooManyRequestsException"):
            await function.invoke(event)
        (tmp_path / "b").touch()
        return await running

    assert not sandboxed.use(work).failed
    throttles = [each.value for each in seen if each.name == "Throttles"]
    assert throttles == [1, 0]


def test_a_time_out_kills_the_sandbox_and_says_so(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(
        "import os, time\n"
        "def handler(event, context):\n"
        "    print(f'pid={os.getpid()}')\n"
        "    time.sleep(event.get('s', 0))\n"
        "    return os.getpid()\n"
    )
    sandboxed.options["timeout_s"] = 0.75
    late, after = sandboxed.invoke({"s": 60}, {})
    assert late.function_error == "Unhandled"
    assert late.error == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": f"RequestId: {late.request_id} Error: Task timed out after 0.75 seconds",
    }
    assert 750 <= late.duration_ms < 5_000
    (killed,) = [int(line[4:]) for line in late.log_lines if line.startswith("pid=")]
    assert gone(killed)
    assert after.payload != killed
    assert after.init_duration_ms is not None


@pytest.mark.parametrize(
    ("death", "reason"),
    [
        ("os.kill(os.getpid(), 11)", "Runtime exited with error: signal: segmentation fault"),
        ("os.kill(os.getpid(), 9)", "Runtime exited with error: signal: killed"),
        ("os._exit(3)", "Runtime exited with error: exit status 3"),
        ("os._exit(0)", "Runtime exited without providing a reason"),
    ],
)
def test_a_process_that_ends_is_an_exit_error_and_the_next_event_has_a_new_one(
    sandboxed: SandboxedHandler, death: str, reason: str
) -> None:
    sandboxed.write(f"import os\ndef handler(event, context):\n    if event:\n        {death}\n")
    died, after = sandboxed.invoke({"die": 1}, {})
    assert died.error == {
        "errorType": "Runtime.ExitError",
        "errorMessage": f"RequestId: {died.request_id} Error: {reason}",
    }
    assert died.function_error == "Unhandled"
    assert not after.failed


def test_an_exception_has_the_services_shape(sandboxed: SandboxedHandler) -> None:
    sandboxed.write("def handler(event, context):\n    raise KeyError('order')\n")
    (result,) = sandboxed.invoke({})
    assert result.error is not None
    assert result.error["errorType"] == "KeyError"
    assert result.error["errorMessage"] == "'order'"
    assert result.error["requestId"] == result.request_id
    assert "raise KeyError('order')" in result.error["stackTrace"][0]
    assert result.payload is None
    (line,) = [each for each in result.log_lines if each.startswith("[ERROR] KeyError")]
    assert "Traceback" in line  # the whole of it is one log event


@pytest.mark.parametrize(
    ("source", "handler", "error_type"),
    [
        ("import nothing_like_this\n", "app.handler", "Runtime.ImportModuleError"),
        ("def broken(:\n", "app.handler", "Runtime.UserCodeSyntaxError"),
        ("x = 1\n", "app.handler", "Runtime.HandlerNotFound"),
        ("x = 1\n", "handler", "Runtime.MalformedHandlerName"),
        ("raise RuntimeError('at import')\n", "app.handler", "RuntimeError"),
    ],
)
def test_a_handler_that_cannot_be_loaded_fails_every_invocation(
    sandboxed: SandboxedHandler, source: str, handler: str, error_type: str
) -> None:
    sandboxed.write(source)
    sandboxed.options["handler"] = handler
    first, second = sandboxed.invoke({}, {})
    for result in (first, second):
        assert result.error is not None
        assert result.error["errorType"] == error_type
        assert result.function_error == "Unhandled"


def test_start_leaves_a_handler_that_cannot_be_loaded_to_the_invocation(
    sandboxed: SandboxedHandler,
) -> None:
    sandboxed.write("import nothing_like_this\n")

    async def work(function: LocalFunction) -> InvokeResult:
        await function.start()
        return await function.invoke({})

    assert sandboxed.use(work).failed


def test_an_answer_over_6_mb_is_refused_and_the_next_one_works(
    sandboxed: SandboxedHandler,
) -> None:
    sandboxed.write("def handler(event, context):\n    return 'x' * event['n']\n")
    fits, over, after = sandboxed.invoke({"n": 6_291_554}, {"n": 6_291_555}, {"n": 1})
    assert len(fits.payload) == 6_291_554
    assert over.error == {
        "errorType": "Function.ResponseSizeTooLarge",
        "errorMessage": "Response payload size exceeded maximum allowed payload size "
        "(6291556 bytes).",
    }
    assert after.payload == "x"


def test_an_event_over_6_mb_never_reaches_the_handler(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(PID)
    with pytest.raises(InvocationRefused, match="RequestEntityTooLargeException"):
        sandboxed.invoke({"x": "x" * 6_291_456})
    assert sandboxed.lines == []


def test_an_answer_that_json_cannot_hold_is_an_error(sandboxed: SandboxedHandler) -> None:
    sandboxed.write("def handler(event, context):\n    return object()\n")
    (result,) = sandboxed.invoke({})
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.MarshalError"


def test_what_the_handler_writes_belongs_to_its_invocation(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(
        "import sys\n"
        "print('at import')\n"
        "def handler(event, context):\n"
        "    for i in range(event['lines']):\n"
        "        print(f\"{event['name']} {i}\")\n"
        "    sys.stderr.write('no newline')\n"
        "    print()\n"
    )
    first, second = sandboxed.invoke({"name": "a", "lines": 300}, {"name": "b", "lines": 2})
    written = [line for line in second.log_lines if not line.startswith(("START", "END", "REP"))]
    assert written == ["b 0", "b 1", "no newline"]
    assert "at import" in first.log_lines
    assert [line for line in first.log_lines if line.startswith("a ")] == [
        f"a {i}" for i in range(300)
    ]
    assert sandboxed.lines == [*first.log_lines, *second.log_lines]


def test_the_service_writes_start_end_and_report(sandboxed: SandboxedHandler) -> None:
    sandboxed.write("def handler(event, context):\n    pass\n")
    cold, warm = sandboxed.invoke({}, {})
    start, end, report = warm.log_lines
    assert start == f"START RequestId: {warm.request_id} Version: $LATEST"
    assert end == f"END RequestId: {warm.request_id}"
    assert report.startswith(f"REPORT RequestId: {warm.request_id}\tDuration: ")
    assert "Memory Size: 128 MB\tMax Memory Used: " in report
    assert "Init Duration" not in report
    assert "Init Duration: " in cold.log_lines[-1]


def test_memory_is_the_sandboxs_own_peak(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(
        "def handler(event, context):\n    block = bytearray(event['mb'] * 1024 * 1024)\n"
    )
    small, large, after = sandboxed.invoke({"mb": 1}, {"mb": 100}, {"mb": 1})
    sizes = [each.max_memory_mb for each in (small, large, after)]
    assert None not in sizes
    low, high, kept = (size or 0 for size in sizes)
    assert 5 < low < 60
    assert high >= low + 90
    assert kept >= high


def test_a_handlers_own_processes_end_with_it(sandboxed: SandboxedHandler) -> None:
    sandboxed.write(
        "import subprocess, sys\n"
        "def handler(event, context):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "    return child.pid\n"
    )
    (result,) = sandboxed.invoke({})
    wait_gone(result.payload)


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while not gone(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


LAB_THAT_IS_KILLED = """
import asyncio, pathlib, sys
from shardlane_lab.local_lambda.function import LocalFunction
from shardlane_lab.local_lambda.function_config import FunctionConfig

async def main():
    config = FunctionConfig(name="f", handler="app.handler", timeout_s=600,
                            code_folder=pathlib.Path(sys.argv[1]))
    function = LocalFunction(config, on_log=lambda _, line: print(line, flush=True))
    await function.invoke({})

asyncio.run(main())
"""


def test_no_sandbox_outlives_a_killed_lab_even_in_an_endless_handler(
    sandboxed: SandboxedHandler,
) -> None:
    sandboxed.write(
        "import os\n"
        "def handler(event, context):\n"
        "    print(f'pid={os.getpid()}')\n"
        "    while True:\n"
        "        pass\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", LAB_THAT_IS_KILLED, str(sandboxed.folder)],
        stdout=subprocess.PIPE,
        text=True,
    ) as lab:
        assert lab.stdout is not None
        pid = next(int(line[4:]) for line in lab.stdout if line.startswith("pid="))
        lab.send_signal(signal.SIGKILL)
    wait_gone(pid)


def test_stop_ends_an_invocation_under_way(sandboxed: SandboxedHandler, tmp_path: Path) -> None:
    sandboxed.write(MEETING)

    async def work(function: LocalFunction) -> InvokeResult:
        event = {"folder": str(tmp_path), "me": "a", "other": "never"}
        running = asyncio.create_task(function.invoke(event))
        await sandboxed.wait_for("begun")
        await function.stop()
        return await running

    result = sandboxed.use(work)
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.ExitError"


def test_an_interrupted_invocation_leaves_no_sandbox_to_the_next(
    sandboxed: SandboxedHandler, tmp_path: Path
) -> None:
    """Its handler may still run, and would answer the next event."""
    sandboxed.write(MEETING)

    async def work(function: LocalFunction) -> InvokeResult:
        event = {"folder": str(tmp_path), "me": "a", "other": "b"}
        running = asyncio.create_task(function.invoke(event))
        await sandboxed.wait_for("begun")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        (tmp_path / "b").touch()
        return await function.invoke(event)

    assert sandboxed.use(work).init_duration_ms is not None


def test_invocations_errors_and_duration_are_counted(sandboxed: SandboxedHandler) -> None:
    sandboxed.write("def handler(event, context):\n    return 1 / event['n']\n")
    seen: list[Datum] = []
    sandboxed.observer = seen.append
    good, bad = sandboxed.invoke({"n": 1}, {"n": 0})
    where = dimensions(FunctionName="orders")
    assert {(each.namespace, each.dimensions) for each in seen} == {("AWS/Lambda", where)}
    assert [each.value for each in seen if each.name == "Invocations"] == [1, 1]
    assert [each.value for each in seen if each.name == "Errors"] == [0, 1]
    durations = [each.value for each in seen if each.name == "Duration"]
    assert durations == [good.duration_ms, bad.duration_ms]


def test_a_warm_invocation_costs_far_less_than_a_delayed_acknowledgement(
    sandboxed: SandboxedHandler,
) -> None:
    """A response in two writes would cost 40 ms each time."""
    sandboxed.write("def handler(event, context):\n    pass\n")
    results = sandboxed.invoke(*({} for _ in range(31)))
    durations_ms = sorted(each.duration_ms for each in results[1:])
    assert durations_ms[len(durations_ms) // 2] < 20
    assert all(a.request_id != b.request_id for a, b in pairwise(results))
