"""Every notebook: question, chart, one sentence of answer, table, method; in words of the guide."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import nbformat
import openings
import papermill
import pytest
import yaml
from papermill.cli import papermill as command

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PASTED = re.compile(r"`(papermill [^`\n]*)`")


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_question_chart_answer_table_and_method_come_in_this_order(path):
    assert openings.order_of(read(path)) == ["question", "chart", "answer", "table", "method"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_goodput_where_payload_is_meant(path):
    """The report of 2003 counts headers too and calls that throughput; no other page does."""
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    allowed = {"10-openlab-2003": 1}.get(path.stem, 0)
    assert len(re.findall("throughput", text, re.IGNORECASE)) == allowed
    assert not re.search(r"(?<!`)\b\d{4,5}B\b", text)
    words = re.sub(r"`[^`]*`|```.*?```", "", text, flags=re.DOTALL)
    assert "->" not in words


def test_start_here_explains_every_word_that_a_study_uses():
    text = "\n".join(cell.source for cell in read(ROOT / "notebooks/00-start-here.ipynb").cells)
    for word in ("goodput", "MTU", "window", "offload", "stream", "bus", "ceiling", "knob",
                 "tuning", "cell", "block", "round", "ledger"):  # fmt: skip
        assert re.search(rf"^\| {word} \| .+ \|$", text, re.MULTILINE), word


def printed_commands() -> list[str]:
    texts = [cell.source for path in NOTEBOOKS for cell in read(path).cells]
    texts += [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    return [command for text in texts for command in PASTED.findall(text)]


def test_papermill_commands_that_are_printed_name_notebooks_and_their_parameters():
    found = printed_commands()
    assert len(found) >= 2
    for line in found:
        _, *argv = shlex.split(line)
        given = command.make_context("papermill", argv).params
        names = {name for name, _ in given["parameters"]}
        names |= {name for text in given["parameters_yaml"] for name in yaml.safe_load(text)}
        known = papermill.inspect_notebook(str(ROOT / given["notebook_path"]))
        assert names and names <= set(known), line
