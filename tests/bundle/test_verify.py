"""A difference in a bundle is found: a byte, a number, a row, a file."""

from __future__ import annotations

import json
import shutil
import subprocess

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.bundle import crate
from netlab.bundle.verify import changed_files, compare_sites, compare_texts, other_figures
from netlab.errors import NetlabError
from netlab.files.archive import names_in

CELLS = "group,streams,goodput_MBps\n" + "".join(
    f"left -> right,{n},{100.123456789 * n}\n" for n in range(1, 9)
)
ABOUT = crate.About("A study", "", "small", "2026-01-05T10:00:00+00:00", "0.1.0")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A directory like an unpacked bundle."""
    made = tmp_path_factory.mktemp("whole")
    for name, text in (
        ("site/downloads/cells.csv", CELLS),
        ("site/tables/a.csv", "a,b\n1,\n"),
        ("site/tables/a.tex", "\\begin{tabular}\n1 & 2\n"),
        ("site/records/r.json", '{"goodput_MBps": 100.0}\n'),
        ("results/runs/part.parquet", "PAR1"),
        ("study.yml", "netlab: 1\n"),
    ):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (made / crate.METADATA).write_text(json.dumps(crate.metadata(made, ABOUT)))
    (made / crate.MANIFEST).write_text(crate.manifest(made))
    return made


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def test_a_whole_bundle_has_no_changed_file(whole):
    assert changed_files(whole) == []


def test_a_full_disk_is_no_difference_of_the_bundle(copy, tmp_path, monkeypatch):
    said = "OSError: [Errno 28] No space left on device"
    runs = iter(subprocess.CompletedProcess((), code, "", said) for code in (0, 1))
    monkeypatch.setattr("netlab.bundle.verify._run", lambda argv, work: next(runs))
    with pytest.raises(NetlabError, match=f"{tmp_path}: no space left"):
        other_figures(copy, tmp_path)


def test_the_manifest_is_what_sha256sum_reads(whole):
    argv = ("sha256sum", "--check", "--quiet", "--strict", crate.MANIFEST)
    subprocess.run(argv, cwd=whole, check=True)


@given(data=st.data())
def test_a_changed_byte_of_any_file_is_found(whole, tmp_path_factory, data):
    copy = shutil.copytree(whole, tmp_path_factory.mktemp("changed") / "copy")
    name = data.draw(st.sampled_from(names_in(copy)))
    content = bytearray((copy / name).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    (copy / name).write_bytes(content)
    found = changed_files(copy)
    assert found
    if name != crate.MANIFEST:
        assert name in {difference.file for difference in found}


def test_files_that_are_missing_or_new_are_found(copy):
    (copy / "study.yml").unlink()
    (copy / "site" / "extra.html").write_text("")
    states = {one.file: (one.was == "absent", one.now == "absent") for one in changed_files(copy)}
    assert states == {"study.yml": (False, True), "site/extra.html": (True, False)}


def test_a_manifest_that_was_made_anew_does_not_hide_a_changed_file(copy):
    """The digests in the metadata differ then."""
    (copy / "study.yml").write_text("netlab: 2\n")
    (copy / crate.MANIFEST).write_text(crate.manifest(copy))
    (found,) = changed_files(copy)
    assert (found.file, found.place) == (crate.METADATA, "study.yml")


def test_a_manifest_with_other_lines_is_found(copy):
    with open(copy / crate.MANIFEST, "a") as manifest:
        manifest.write("# a remark\n")
    (found,) = changed_files(copy)
    assert found.file == crate.MANIFEST


def test_metadata_that_cannot_be_read_are_found(copy):
    (copy / crate.METADATA).write_text('{"@graph": [{"@type": "File", "sha256": "1"}]}')
    (copy / crate.MANIFEST).write_text(crate.manifest(copy))
    (found,) = changed_files(copy)
    assert found.file == crate.METADATA and "unreadable" in found.now


def test_a_difference_is_printable_whatever_the_metadata_state(copy):
    (copy / crate.METADATA).write_text(
        '{"@graph": [{"@type": "File", "@id": "\\u001b[2J", "sha256": 5}]}'
    )
    (copy / crate.MANIFEST).write_text(crate.manifest(copy))
    assert all(str(one).isprintable() for one in changed_files(copy))


def test_the_same_site_has_no_difference(whole):
    assert compare_sites(whole / "site", whole / "site") == []


@given(data=st.data())
def test_a_changed_number_is_found_with_its_cell(whole, data):
    row = data.draw(st.integers(0, 7))
    factor = data.draw(st.floats(0.5, 2).filter(lambda value: abs(value - 1) > 1e-6))
    lines = CELLS.split("\n")
    key, _, value = lines[row + 1].rpartition(",")
    lines[row + 1] = f"{key},{float(value) * factor}"
    (found,) = compare_texts("site/downloads/cells.csv", "\n".join(lines), CELLS)
    assert found.place == f"line {row + 2}, goodput_MBps"
    assert float(found.was) == float(value) * factor and float(found.now) == float(value)
    assert str(found).startswith(f"site/downloads/cells.csv: line {row + 2}, goodput_MBps: was ")


@given(row=st.integers(0, 7), added=st.booleans())
def test_a_dropped_row_is_found_as_one_difference(row, added):
    lines = CELLS.split("\n")
    other = "\n".join([*lines[: row + 1], *lines[row + 2 :]])
    was, now = (CELLS, other) if added else (other, CELLS)
    (found,) = compare_texts("cells.csv", was, now)
    assert (found.was if added else found.now) == lines[row + 1]
    assert (found.now if added else found.was) == "absent"
    assert found.place == f"line {row + 2}"


@pytest.mark.parametrize(
    ("name", "was", "now", "found"),
    [
        ("a.csv", "a,b\n1,2,3\n", "a,b\n1,2\n", ("line 2, column 3", "3", "absent")),
        ("a.csv", "a,b\n1,bus\n", "a,b\n1,CPU\n", ("line 2, b", "bus", "CPU")),
        ("a.csv", "a,b\n1,2\n", "a,b\n1,\n", ("line 2, b", "2", "")),
        ("a.tex", "1 & 2\n3 & 4\n", "1 & 2\n3 & 5\n", ("line 2", "3 & 4", "3 & 5")),
        ("a.json", "{\n}\n", "{\n1\n}\n", ("line 2", "absent", "1")),
        ("a.csv", "a\n1\r2\n", "a\n1\r3\n", ("line 2, a", "1\r2", "1\r3")),
        ("a.csv", "1\n" * 99_999, "1\n" * 99_998, ("line 99999", "1", "absent")),
    ],
)
def test_a_table_is_compared_cell_by_cell_and_other_files_line_by_line(name, was, now, found):
    (one,) = compare_texts(name, was, now)
    assert (one.place, one.was, one.now) == found


def test_numbers_that_differ_in_their_last_digits_are_the_same():
    assert compare_texts("a.csv", "a\n100.00000000000001\n", "a\n100.0\n") == []
    assert compare_texts("a.csv", "a\n100.000001\n", "a\n100.0\n") != []


def test_a_file_that_only_one_site_has_is_found(copy, whole):
    (copy / "site" / "tables" / "a.csv").unlink()
    (found,) = compare_sites(whole / "site", copy / "site")
    assert (found.file, found.was, found.now) == ("site/tables/a.csv", "the file", "absent")


def test_the_place_of_the_results_does_not_count(copy, whole, tmp_path):
    for site, place in ((whole, "results"), (copy, str(tmp_path / "results"))):
        pd.DataFrame({"file": [f"{place}/runs"]}).to_csv(site / "site/tables/b.csv", index=False)
    try:
        found = compare_sites(whole / "site", copy / "site", str(tmp_path / "results"))
    finally:
        (whole / "site/tables/b.csv").unlink()
    assert found == []
