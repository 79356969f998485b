"""The reference is complete: each flag, column, kind of knob and key is documented."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import guide
import pytest
import yaml
from study.crossed_study import BASE, crossed

import netlab
from netlab.analysis.cells import CELL_COLUMNS
from netlab.analysis.shares import OF_CELLS
from netlab.cli.guard import BELOW_GATE, CONDITION_MET
from netlab.lab.emulator import MANAGED_PACKETS
from netlab.results.columns import TABLES
from netlab.results.flags import Flag
from netlab.results.flags import as_markdown as flags_as_markdown
from netlab.study.schema import as_markdown
from netlab.tuning.exact import markdown
from netlab.tuning.knobs import HOSTWIDE, NAMES
from netlab.tuning.profiles import profile_names

PACKAGE = Path(netlab.__file__).parent
INTRODUCTION = "<!-- netlab schema --reference -->\n\n"


def page(name: str) -> str:
    return (guide.DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Text below a heading of level 2."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, heading
    return found[1]


def first_cells(text: str) -> list[str]:
    """First cells of the rows of a table, without backticks; heads left out."""
    rows = [line.split("|")[1].strip().strip("`") for line in text.split("\n") if line[:2] == "| "]
    return [cell for cell in rows[1:] if not set(cell) <= {"-"}]


def flags_in_source() -> set[str]:
    """Names of `Flag` that the code uses."""
    return {
        node.attr
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Flag"
    }


def test_the_table_of_exit_codes_has_all_of_them():
    codes = [2, CONDITION_MET, BELOW_GATE]
    table = first_cells(section(page("commands.md"), "Exit codes"))
    assert table == ["0", "1", *map(str, codes), "128 + n"]


def test_every_flag_is_given_by_some_code():
    assert flags_in_source() == set(Flag.__members__)


def test_the_page_of_flags_is_made_from_them():
    _, marker, made = page("flags.md").partition("<!-- flags -->\n\n")
    assert marker
    assert made == flags_as_markdown(), "netlab.results.flags.as_markdown() is what follows it"


def test_every_flag_is_described_with_its_class_and_remedy():
    text = page("flags.md")
    for flag in Flag:
        assert f"| `{flag}` | {flag.meaning} | {flag.validity} |" in text
        assert f"- What to do: {flag.remedy}." in section(text, f"`{flag}`")


def rows_of(table: str) -> list[str]:
    """Rows of the reference of a table of results."""
    return [
        f"| `{c.name}` | {c.unit} | {c.meaning.replace('|', '/')} |".replace("|  |", "| |")
        for c in TABLES[table]
    ]


def test_every_column_is_documented():
    text = page("columns.md")
    for table in TABLES:
        rows = [line for line in section(text, f"`{table}`").split("\n") if line[:3] == "| `"]
        assert rows == rows_of(table), "\n".join(rows_of(table))


def test_every_column_of_the_cells_is_documented():
    assert first_cells(section(page("columns.md"), "Cells")) == ["study", *CELL_COLUMNS, *OF_CELLS]


def test_every_kind_of_knob_and_its_names_are_documented():
    text = section(page("tuning.md"), "Kinds of knobs")
    table = {line.split("|")[1].strip(" `"): line for line in text.split("\n") if line[:3] == "| `"}
    assert set(table) == {*NAMES, *HOSTWIDE}
    for kind, names in NAMES.items():
        assert re.findall(r"`([^`]+)`", table[kind].split("|")[2]) == list(names)


def test_the_knobs_that_revert_exactly_are_documented_with_their_reasons():
    text = section(page("tuning.md"), "Knobs that revert exactly")
    assert text.partition("<!-- exact knobs -->\n\n")[2].strip() == markdown().strip()


def test_every_tuning_that_netlab_brings_is_documented():
    text = section(page("tuning.md"), "Tunings that come with netlab")
    named = [name for line in text.split("\n") for name in re.findall(r"`([^`]+)`", line)]
    assert sorted(named) == profile_names()


def test_every_key_of_a_study_is_documented():
    _, marker, generated = page("study.md").partition(INTRODUCTION)
    assert marker
    assert generated == as_markdown(), "netlab schema --reference prints what follows the marker"


SET_UPS = re.findall(r"`(emulator: {[^`]*})`, `(factors: {[^`]*})`", page("factors.md"))


@pytest.mark.parametrize("set_up", SET_UPS)
def test_a_set_up_of_papers_is_a_study_with_its_factors(set_up):
    emulator, factors = map(yaml.safe_load, set_up)
    path = {**BASE["paths"]["cable"], "link": emulator}
    study = crossed(paths={"cable": path}, groups=[{**BASE["groups"][0], **factors}])
    (levels,) = factors["factors"].values()
    assert len(study.links) == len(levels)


def test_the_limit_of_a_queue_under_a_discipline_is_documented():
    assert f"{MANAGED_PACKETS:,} packets" in page("factors.md")
