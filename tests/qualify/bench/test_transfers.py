"""A benchmark that is ended early keeps its transfers."""

import json

import numpy as np
import pytest

from netlab.qualify.bench.transfers import TransferLog

AT = "2026-01-05T10:00:00Z"


def test_every_transfer_is_on_disk_before_the_next_one(tmp_path):
    samples = [
        {"contender": "gensink", "goodput_MBps": np.float64(875.5), "error": ""},
        {"contender": "iperf2", "goodput_MBps": float("nan"), "error": "Über\nzwei Zeilen"},
    ]
    log = TransferLog(tmp_path, AT)
    for number, sample in enumerate(samples, start=1):
        log.write(sample)
        assert log.count == number
        lines = log.path.read_text(encoding="utf-8").splitlines()
        assert len(lines) == number
    assert [json.loads(line) for line in lines] == [
        {"contender": "gensink", "goodput_MBps": 875.5, "error": ""},
        {"contender": "iperf2", "goodput_MBps": None, "error": "Über\nzwei Zeilen"},
    ]
    assert log.path == tmp_path / "2026-01-05T100000Z" / "transfers.jsonl"


def test_a_benchmark_without_a_transfer_leaves_no_directory(tmp_path):
    assert TransferLog(tmp_path, AT).count == 0
    assert not list(tmp_path.iterdir())


def test_two_benchmarks_of_one_second_do_not_share_a_file(tmp_path):
    for contender in ("gensink", "plain"):
        TransferLog(tmp_path, AT).write({"contender": contender})
    found = sorted(path.read_text() for path in tmp_path.glob("*/transfers.jsonl"))
    assert found == ['{"contender": "gensink"}\n', '{"contender": "plain"}\n']


def test_a_full_disk_is_an_error_of_the_transfer_that_met_it(tmp_path):
    log = TransferLog(tmp_path, AT)
    log.path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space"):
        log.write({"contender": "gensink"})
    assert log.count == 0
