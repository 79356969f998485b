"""A rate over time by a trace file: what a study takes, refuses and holds, and its mean rate."""

from __future__ import annotations

import pytest
from study.flows_file import keys_of, written

from netlab.errors import BadInput, Unsupported
from netlab.lab.emulator import EmulatorSettings
from netlab.lab.kernel_emulator import KernelFeatures, takes
from netlab.study.file import load, load_stored
from netlab.study.frozen import freeze
from netlab.study.rate_trace import RateTrace, read_trace

ALL = KernelFeatures(netem=True, rate=True, seed=True)
LINES = "0\n1\n1\n4\n"
"""Four packets of 1500 B in 4 ms: 12.112 Mb/s of frames."""


def study(tmp_path, emulator: dict, lines: str = LINES):
    """A stranger's file, with a trace beside it in a directory of its own."""
    (tmp_path / "traces").mkdir(exist_ok=True)
    (tmp_path / "traces" / "lte.down").write_text(lines)
    ends = [{"host": "a"}, {"host": "b"}]
    paths = {"slow": {"ends": ends, "link": {"emulator": emulator}}}
    return load(written(tmp_path, [], streams=[1], paths=paths))


def test_the_mean_of_a_trace_is_the_rate_of_its_direction(tmp_path):
    made = study(tmp_path, {"trace": "traces/lte.down", "queue_packets": 50})
    emulator = made.paths["slow"].link.emulator
    assert emulator.rate_Mbps == pytest.approx(4 * 1514 * 8 / 4000)
    assert made.paths["slow"].link.shaped_Mbps == (emulator.rate_Mbps,) * 2
    assert EmulatorSettings.of(emulator).traces == (LINES, LINES)
    one_way = study(tmp_path, {"trace": "traces/lte.down", "reverse": {"rate_Mbps": 5.0}})
    emulator = one_way.paths["slow"].link.emulator
    assert EmulatorSettings.of(emulator).traces == (LINES, "")
    assert one_way.paths["slow"].link.shaped_Mbps == (pytest.approx(12.112), 5.0)
    back = study(tmp_path, {"rate_Mbps": 5.0, "reverse": {"trace": "traces/lte.down"}})
    emulator = back.paths["slow"].link.emulator
    assert EmulatorSettings.of(emulator).traces == ("", LINES)
    assert [way.rate_bps for way in EmulatorSettings.of(emulator).ways] == [5_000_000, 12_112_000]


def test_a_trace_is_in_the_copy_of_a_study_and_its_content_in_keys_and_digests(tmp_path):
    emulator = {"trace": "traces/lte.down", "reverse": {"trace": "traces/lte.down"}}
    made = study(tmp_path, emulator)
    stored = load_stored(freeze(made, tmp_path / "stored"))
    (tmp_path / "traces" / "lte.down").unlink()
    assert stored.digest() == made.digest() and keys_of(stored) == keys_of(made)
    trace = stored.paths["slow"].link.emulator.trace
    assert (trace.file, trace.lines) == ("lte.down", [0, 1, 1, 4])
    other = study(tmp_path, emulator, "0\n1\n2\n4\n")
    assert other.digest() != made.digest() and keys_of(other) != keys_of(made)


@pytest.mark.parametrize(
    ("lines", "place", "reason"),
    [
        ("0\n1\nx\n", "lte.down:3", "from 1 to"),
        ("5\n4\n", "lte.down:2", "from 5 to"),
        ("5\n\n6\n", "lte.down:2", "expected the ms"),
        ("-1\n", "lte.down:1", "expected the ms"),
        ("1.5\n", "lte.down:1", "expected the ms"),
        ("0\n0\n", "lte.down:2", "begins anew"),
        ("", "lte.down:1", "begins anew"),
        ("5\xe9\n", "lte.down:1", "expected the ms"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, lines, place, reason):
    with pytest.raises(BadInput) as refused:
        study(tmp_path, {"trace": "traces/lte.down"}, lines)
    assert place in str(refused.value) and reason in str(refused.value)


def test_a_file_of_another_system_is_read(tmp_path):
    """With a byte order mark, as an editor of Windows writes, and its line ends."""
    (tmp_path / "lte.down").write_bytes(b"\xef\xbb\xbf0\r\n2\r\n2\r\n9\r\n")
    assert read_trace(tmp_path / "lte.down") == RateTrace.of("lte.down", [0, 2, 2, 9])


@pytest.mark.parametrize("line", ["\u0663".encode(), b"\xff\x00", "3 ms – ü".encode()])
def test_a_line_that_is_no_number_is_named_in_any_encoding(tmp_path, line):
    (tmp_path / "lte.down").write_bytes(b"0\n2\n" + line + b"\n9\n")
    with pytest.raises(BadInput, match=r"lte\.down:3: expected the ms") as refusal:
        read_trace(tmp_path / "lte.down")
    assert refusal.value.code == "E-STUDY-122"


@pytest.mark.parametrize(
    ("emulator", "reason"),
    [
        ({"trace": "traces/absent"}, "absent: cannot be read: No such file"),
        ({"trace": "traces"}, "cannot be read"),
        ({"trace": "traces/lte.down", "rate_Mbps": 10.0}, "set the same rate: give one"),
        ({"rate_Mbps": 1, "reverse": {"trace": "traces/lte.down", "rate_Mbps": 1}}, "give one"),
        ({"trace": "traces/lte.down", "burst_B": 9000}, "a trace has no bucket"),
        ({"trace": 7}, "trace"),
    ],
)
def test_what_no_trace_can_be_is_refused_with_the_reason(tmp_path, emulator, reason):
    with pytest.raises(BadInput, match=r"trace") as refused:
        study(tmp_path, emulator)
    assert reason in str(refused.value)


def test_a_factor_of_the_rate_contradicts_a_trace(tmp_path):
    (tmp_path / "lte.down").write_text(LINES)
    ends = [{"host": "a"}, {"host": "b"}]
    paths = {"slow": {"ends": ends, "link": {"emulator": {"trace": "lte.down"}}}}
    factors = {"rate_Mbps": [5.0, 10.0]}
    with pytest.raises(BadInput, match="give one"):
        load(written(tmp_path, [], streams=[1], paths=paths, factors=factors))


def test_netem_follows_no_trace(tmp_path):
    made = study(tmp_path, {"trace": "traces/lte.down"}).paths["slow"].link.emulator
    assert not takes(made, lambda: ALL)
    with pytest.raises(Unsupported, match="no trace of a rate"):
        takes(made.model_copy(update={"with_": "netem"}), lambda: ALL)


def test_lines_are_the_same_after_they_were_shortened(tmp_path):
    lines = [0, 0, 3, 7, 7, 7, 100]
    (file := tmp_path / "t").write_text("".join(f"{ms}\n" for ms in lines))
    trace = read_trace(file)
    assert trace.opportunities == "2*0 3 3*7 100" and trace.lines == lines
    for text in ("1 0", "x", "0", "0*3 5", "2*", "9999999*1 1*1"):
        with pytest.raises(ValueError, match="opportunities"):
            RateTrace(file="t", opportunities=text)
