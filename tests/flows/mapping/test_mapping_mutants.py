"""The tests of the mapping's rules notice when a rule is broken: each mutant below is one broken
rule, and the test named beside it must fail."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.mapping.mutation import Change, fresh_processes, run_tests

HERE = Path(__file__).parent
REFUSED_END = """\
            except InvocationRefused as refusal:
                log.debug("""
REFUSED_END_TEST = "test_the_last_invocation_of_a_window_is_tried_again_when_it_was_refused"


@dataclass(frozen=True)
class Mutant:
    rule: str
    module: str
    old: str
    new: str
    caught_by: str


MUTANTS = [
    Mutant(
        "the highest reported number becomes the checkpoint",
        "batch_response",
        "FailedFrom(min(known))",
        "FailedFrom(max(known))",
        "test_mapping_partial.py::test_the_lowest_reported_number_is_the_checkpoint",
    ),
    Mutant(
        "a malformed identifier is skipped",
        "batch_response",
        "if not all(isinstance(each, str) and each for each in identifiers):",
        "if not any(isinstance(each, str) for each in identifiers):",
        "test_mapping_partial.py::test_a_malformed_identifier_fails_the_whole_batch",
    ),
    Mutant(
        "the answer is read although the mapping does not ask for it",
        "batch_response",
        "if not config.report_batch_item_failures:",
        "if False:",
        "test_mapping_partial.py::test_the_answer_is_not_read_unless_the_mapping_asks_for_it",
    ),
    Mutant(
        "a partial response splits in the middle",
        "after_invoke",
        "case FailedFrom(index) if index > 0:",
        "case FailedFrom(index) if index > 0 and not config.bisect_batch_on_function_error:",
        "test_mapping_bisect.py::test_with_a_partial_response_the_split_is_at_the_reported_number",
    ),
    Mutant(
        "the second half goes first",
        "after_invoke",
        "return Decision(todo=_halves(batch))\n        case _:",
        "return Decision(todo=_halves(batch)[::-1])\n        case _:",
        "test_mapping_bisect.py::test_a_failed_batch_is_split_in_two_and_the_first_half_goes_first",
    ),
    Mutant(
        "a split starts the count of retries anew",
        "after_invoke",
        "replace(batch, records=batch.records[middle:]),",
        "Batch(batch.records[middle:]),",
        "test_mapping_bisect.py::test_every_half_keeps_the_retries_that_its_batch_had_used",
    ),
    Mutant(
        "every retry starts the count anew",
        "after_invoke",
        "retries=batch.retries + 1",
        "retries=min(batch.retries + 1, 1)",
        "test_mapping_retries.py::test_a_batch_is_tried_once_and_then_as_often_as_retries_allow",
    ),
    Mutant(
        "a throttled invocation consumes a retry",
        "slice_worker",
        "return Decision(todo=(batch,), pause_s=pause_s(self._refusals - 1, self._work.config))",
        "return after_invoke(batch, Failed('throttled'), self._work.config)",
        "test_mapping_retries.py::test_a_throttled_invocation_consumes_no_retry",
    ),
    Mutant(
        "a key's records go to any slice",
        "shard_intake",
        "slice_of(record.partition_key, len(self.slices))",
        "record.index % len(self.slices)",
        "test_mapping_parallel.py::test_a_key_is_never_in_two_batches_at_once_and_keeps_its_order",
    ),
    Mutant(
        "the checkpoint passes unfinished records",
        "watermark",
        "while self._open and self._open[0][0] in self._settled:",
        "while self._settled:",
        "test_mapping_parallel.py::test_a_restart_reads_again_from_the_lowest_unfinished_record",
    ),
    Mutant(
        "a child starts where the mapping started",
        "shard_lineage",
        'return {"Type": "TRIM_HORIZON"}',
        "pass",
        "test_mapping_resharding.py::"
        "test_a_child_starts_at_its_beginning_although_the_mapping_started_at_latest",
    ),
    Mutant(
        "a child does not wait for its parents",
        "shard_lineage",
        "and all(parent in finished or parent not in listed for parent in each.parents)",
        "",
        "test_mapping_resharding.py::test_the_child_of_a_merge_waits_for_both_parents",
    ),
    Mutant(
        "a next subscription starts where the first one did",
        "pushed_shard",
        'return {"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": continuation}',
        "return position",
        "test_mapping_sources.py::"
        "test_an_efo_mapping_subscribes_again_after_five_minutes_and_loses_nothing",
    ),
    Mutant(
        "a batch spans two windows",
        "tumbling",
        "return self._window_of(first) == self._window_of(other)",
        "return True",
        "test_mapping_windows.py::test_a_batch_never_spans_two_windows",
    ),
    Mutant(
        "a refused end of a window ends the mapping",
        "slice_worker",
        REFUSED_END,
        REFUSED_END.replace("InvocationRefused", "NotImplementedError"),
        "test_mapping_windows.py::" + REFUSED_END_TEST,
    ),
    Mutant(
        "a refused end of a window is skipped",
        "slice_worker",
        REFUSED_END,
        REFUSED_END.replace("log.debug", "return log.debug"),
        "test_mapping_windows.py::" + REFUSED_END_TEST,
    ),
    Mutant(
        "a window is forgotten before its end succeeded",
        "slice_worker",
        "await self._invoke_window(final=True, early=False)",
        "self._intake.keep_window(self._slice, None); "
        "await self._invoke_window(final=True, early=False)",
        "test_mapping_windows.py::test_a_refused_last_invocation_is_still_owed_after_a_restart",
    ),
]


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with fresh_processes() as pool:
        yield pool


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_broken_rule_is_noticed(mutant: Mutant, processes: ProcessPoolExecutor) -> None:
    change = Change(mutant.module, mutant.old, mutant.new)
    status, printed = processes.submit(run_tests, change, [str(HERE / mutant.caught_by)]).result()
    # Any other status is no verdict: nothing collected, an import that failed, a usage error.
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "ImportError" not in printed, printed


def test_without_a_change_the_same_tests_pass(processes: ProcessPoolExecutor) -> None:
    arguments = sorted({str(HERE / each.caught_by) for each in MUTANTS})
    status, printed = processes.submit(run_tests, None, arguments).result()
    assert status == pytest.ExitCode.OK, printed
