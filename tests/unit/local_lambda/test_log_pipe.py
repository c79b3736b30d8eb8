from __future__ import annotations

from shardlane_lab.local_lambda.log_pipe import MAX_LINE_BYTES, LineSplitter


def test_lines_come_whole_however_the_bytes_are_cut() -> None:
    data = "eins\nzwei – ä\n\ndrei".encode()
    for cut in range(len(data)):
        splitter = LineSplitter()
        lines = splitter.feed(data[:cut]) + splitter.feed(data[cut:])
        assert lines == ["eins", "zwei – ä", ""]
        assert splitter.flush() == ["drei"]
        assert splitter.flush() == []


def test_a_traceback_of_the_runtime_is_one_event() -> None:
    assert LineSplitter().feed(b"[ERROR] X\rTraceback\r  File\n") == [
        "[ERROR] X\nTraceback\n  File"
    ]


def test_a_line_without_end_is_cut_at_the_largest_log_event() -> None:
    splitter = LineSplitter()
    lines = splitter.feed(b"x" * (MAX_LINE_BYTES + 10))
    assert [len(line) for line in lines] == [MAX_LINE_BYTES]
    assert splitter.flush() == ["x" * 10]


def test_bytes_that_are_no_text_do_not_stop_the_log() -> None:
    assert LineSplitter().feed(b"\xff\xfe ok\n") == ["\ufffd\ufffd ok"]
