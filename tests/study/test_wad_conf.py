"""Parsing of wad.conf, as the SLAC page prints it and in general, and its use in a study."""

import csv
from dataclasses import asdict

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.study import Stack
from netlab.study import load as load_study
from netlab.study.frozen import freeze
from netlab.study.wad_conf import UNMODELLED, WadEntry, parse_wad, read_wad


def printed() -> str:
    """The file of the page, put together again from the published rows."""
    with (data_dir() / "published" / "slac-2003-wad.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    (section,) = {row["section"] for row in rows}
    lines = [f"{row['key']}: {row['value']}" for row in rows]
    return "\n".join([f"[{section}]", *lines, ""])


def test_the_printed_file_is_highspeed_tcp_and_aimd_without_floyd_and_reno_when_empty():
    (entry,) = parse_wad(printed())
    assert (entry.name, entry.dst_addr, entry.sndbuf) == ("GVA", "192.91.239.0/24", 41943040)
    assert entry.stack() == Stack(law="highspeed", max_ssthresh_segments=100)
    assert entry.overridden() == {"wadai": 6.0, "wadmd": 0.3}
    assert set(entry.unmodelled()) == set(UNMODELLED)
    (entry,) = parse_wad(printed().replace("floyd: 1", "floyd: 0"))
    assert entry.stack() == Stack(law="aimd", increase=6.0, decrease=0.3, max_ssthresh_segments=100)
    assert entry.overridden() == {}
    assert parse_wad("[any]\n")[0].stack() == Stack(law="aimd")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no entry"),
        ("wadai: 6", r"line 1: must be \[NAME\] \(found 'wadai: 6'\)"),
        ("[a]\nwadai", "line 2: must be"),
        ("[a]\nwadia: 6", "wadia: line 2: unknown key; allowed are src_addr"),
        ("[a]\nwadai: 6\nwadai: 7", r"wadai: line 3: given twice in \[a\]"),
        ("[a]\n\n[a]", "line 3: an entry needs an unused name"),
        ("[ ]", "line 1: an entry needs an unused name"),
        ("[a]\nwadmd: 1", r"wadmd: line 2: must be a decimal number from 0 to 0.999999 .found '1'"),
        ("[a]\nwadai: 6e3", "wadai: line 2: must be a decimal"),
        ("[a]\nmaxssth: -1", "maxssth: line 2: must be a whole number from 0 to 1000000"),
        ("[a]\nsrc_addr: 300.0.0.0", "src_addr: line 2: must be an address"),
        ("[a]\nfloyd: 3", "floyd: line 2: must be a whole number from 0 to 2"),
    ],
)
def test_a_mistake_is_named_with_its_line(text, said):
    with pytest.raises(BadInput, match=said):
        parse_wad(text)


def test_a_file_is_read_and_one_that_is_none_is_refused(tmp_path):
    path = tmp_path / "wad.conf"
    path.write_text(printed())
    assert read_wad(path) == parse_wad(printed())
    for content, said in ((b"\xff", "not UTF-8"), (b"#" * 70_000, "over 64 KiB")):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=said):
            read_wad(path)
    with pytest.raises(BadInput, match="cannot be read"):
        read_wad(tmp_path / "none")


def study_with(directory, stack, conf):
    """A study file whose one group uses a stack of its own."""
    (directory / "wad.conf").write_text(conf)
    text = synthetic.FOREIGN.replace("path: rack, sender", "path: rack, congestion: mine, sender")
    path = directory / "racks.yml"
    path.write_text(f"{text}description: Two racks.\nstacks: {{mine: {stack}}}\n")
    return path


def test_a_study_takes_a_stack_from_the_file_beside_it(tmp_path):
    path = study_with(tmp_path, "{wad_conf: wad.conf}", printed())
    study = load_study(path)
    assert study.stacks == {"mine": Stack(law="highspeed", max_ssthresh_segments=100)}
    assert study.description.startswith("Two racks. Not taken from wad.conf [GVA]: wadai (overr")
    for key in (*UNMODELLED, "sndbuf (set by the study)", "dst_addr (set by the study)"):
        assert key in study.description
    frozen = freeze(study, tmp_path / "results")
    assert load_study(frozen).digest() == study.model_copy(update={"quick": None}).digest()


def test_a_study_names_the_entry_where_there_are_several(tmp_path):
    two = "[a]\nwadai: 6\nwadmd: 0.3\n[b]\nfloyd: 1\n"
    study = load_study(study_with(tmp_path, "{wad_conf: wad.conf, entry: a}", two))
    assert study.stacks == {"mine": Stack(law="aimd", increase=6.0, decrease=0.3)}
    assert study.description == "Two racks."


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("{wad_conf: wad.conf}", "stacks.mine.entry: choose an entry of wad.conf: a, b"),
        ("{wad_conf: wad.conf, entry: c}", "choose an entry of wad.conf: a, b .found 'c'"),
        ("{wad_conf: wad.conf, law: fast}", "stacks.mine: law: unknown key; allowed: wad_conf"),
        ("{wad_conf: 3}", "stacks.mine: wad_conf: expected text, .* .found 3"),
        ("{wad_conf: none.conf}", "none.conf: cannot be read"),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(tmp_path, stack, said):
    with pytest.raises(BadInput, match=said):
        load_study(study_with(tmp_path, stack, "[a]\n[b]\n"))


names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20)
decimals = st.integers(0, 999).map(lambda n: n / 1000)
entries = st.builds(
    WadEntry,
    name=names,
    src_addr=st.sampled_from(["", "0.0.0.0/32", "2001:db8::/32"]),
    dst_port=st.integers(0, 65535),
    mode=st.integers(0, 2),
    sndbuf=st.integers(0, 2**30),
    wadai=st.integers(0, 1000).map(float),
    wadmd=decimals,
    maxssth=st.integers(0, 1_000_000),
    floyd=st.integers(0, 2),
)


@given(st.lists(entries, min_size=1, max_size=4, unique_by=lambda entry: entry.name))
def test_a_written_wad_conf_reads_back_equal(wanted):
    lines = []
    for entry in wanted:
        values = asdict(entry)
        lines.append(f" [{values.pop('name')}]")
        lines += [f"{key}:{value} " for key, value in values.items()]
    assert parse_wad("\r\n".join(lines)) == tuple(wanted)
    for entry in wanted:
        assert entry.stack().law == ("highspeed" if entry.floyd else "aimd")


@given(st.text(max_size=300))
def test_any_text_is_entries_or_a_clear_refusal(text):
    try:
        found = parse_wad(text)
    except BadInput as error:
        assert "wad.conf" in str(error)
    else:
        assert all(isinstance(entry.stack(), Stack) for entry in found)
