"""Notebooks use names that the package has: found here in seconds, not where they are executed."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import shlex
import subprocess
from pathlib import Path

import nbformat
import notebook_page
import pandas as pd
import papermill
import pytest
import seaborn as sns
import yaml
from matplotlib.axes import Axes
from papermill.cli import papermill as command

import netlab.face
from netlab import wings
from netlab.charts.chart import Chart

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def code_of(notebook: Path) -> ast.Module:
    """The code of all cells, without lines of magic."""
    lines = text_of(notebook, "code").splitlines()
    return ast.parse("\n".join(line for line in lines if not line.startswith(("%", "!"))))


def imported(code: ast.Module) -> set[str]:
    """Full names of all that the code imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def public_names() -> set[str]:
    """Attributes of the classes of the face and of wings, and of frames and charts they give."""
    folders = [Path(netlab.__file__).with_name(name) for name in wings.wings()]
    of_wings = {
        ".".join(("netlab", folder.name, *file.relative_to(folder).with_suffix("").parts))
        for folder in folders
        for stem in ("view", "documents")
        for file in folder.rglob(f"{stem}.py")
    }
    of_face = {
        f"netlab.face.{module.name}" for module in pkgutil.iter_modules(netlab.face.__path__)
    }
    modules = [importlib.import_module(name) for name in sorted(of_wings | of_face)]
    classes = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    own = [one for one in classes if one.__module__ in of_wings | of_face]
    names = {name for one in (*own, Chart, pd.DataFrame, Axes, sns.FacetGrid) for name in dir(one)}
    names |= {name for one in own for name in getattr(one, "__dataclass_fields__", ())}
    names |= {*wings.results(), *wings.methods()}
    return {name for name in names if not name.startswith("_")}


PUBLIC = public_names()


def missing(code: ast.Module) -> list[str]:
    """Attributes that the code uses: of a module that it imports or of other objects, not there."""
    names = [alias for n in ast.walk(code) if isinstance(n, ast.Import) for alias in n.names]
    modules = {a.asname or a.name: importlib.import_module(a.name) for a in names}
    modules["netlab"] = netlab
    wrong = []
    for node in ast.walk(code):
        if not isinstance(node, ast.Attribute):
            continue
        module = modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if node.attr not in (PUBLIC if module is None else dir(module)):
            wrong.append(ast.unparse(node))
    return wrong


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_name_of_the_package_exists(notebook):
    assert missing(code_of(notebook)) == []


def test_a_name_that_is_gone_is_found():
    code = ast.parse("netlab.Study\nnetlab.gone(netlab.report)\nx.tables.cells()\nx.tables.lost()")
    assert sorted(missing(code)) == ["netlab.gone", "netlab.report", "x.tables.lost"]


FRAMES = {"pandas", "numpy", "matplotlib.pyplot", "seaborn"}
"""Libraries that a notebook may use beside the face."""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_the_face_alone(notebook):
    names = imported(code_of(notebook))
    assert "netlab" in names and names <= {"netlab", *FRAMES}


def test_an_import_past_the_face_is_found():
    code = ast.parse("import netlab\nif 1:\n    from netlab.report import tables as t")
    assert imported(code) - {"netlab"} == {"netlab.report.tables"}


ROOT = Path(__file__).resolve().parents[2]
PASTED = re.compile(r"`(papermill [^`\n]*)`")


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def text_of(path: Path, kind: str) -> str:
    """Sources of the cells of a kind."""
    return "\n".join(cell.source for cell in read(path).cells if cell.cell_type == kind)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_question_chart_answer_table_and_method_come_in_this_order(path):
    assert notebook_page.order_of(read(path)) == ["question", "chart", "answer", "table", "method"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_goodput_where_payload_is_meant(path):
    """The report of 2003 counts headers too and calls that throughput; no other page does."""
    text = text_of(path, "markdown")
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


def test_start_here_lists_every_other_notebook():
    text = read(ROOT / "notebooks/00-start-here.ipynb").cells[-1].source
    listed = [name for row in text.splitlines() for name in re.findall(r"^\| (.*) \| ", row)]
    numbers = [[int(number) for number in re.findall(r"`(\d\d)-", names)] for names in listed]
    named = {n for ends in numbers if ends for n in range(ends[0], ends[-1] + 1)}
    assert {int(path.name[:2]) for path in NOTEBOOKS[1:]} == named


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


def test_the_notebooks_that_measure_take_the_same_form_of_the_same_study():
    """A block measured after the study is one of it; else it would be the results shown next."""
    whole, block = (
        papermill.inspect_notebook(str(ROOT / "notebooks" / f"{name}.ipynb"))
        for name in ("01-run-study", "02-measure-block")
    )
    for name in ("study", "quick"):
        assert whole[name]["default"] == block[name]["default"]


FIGURE = re.compile(
    r"(?<![\w.,])(\d[\d,.]*(?: to \d[\d,.]*)? (?:[GMk]?B/s|[GMk]b/s|[GMk]B|ms|µs|s|min|minutes|%))"
    r"(?![\w/])"
)

STATED = {
    "03-openlab-measured": {"95 %": "rule", "0.3 s": "goal"},
    "15-then-and-now": {
        **{"3 %": "assumption on 2003", "4 to 5 %": "headers", "1 %": "headers", "4 %": "headers"},
        **{"80 %": "report of 2003", "70 %": "report of 2003"},
    },
    "16-agreement": {"0.1 s": "interval of other tools"},
    "17-slac-measured": {
        **{"183.022 ms": "setting", "2.5 Gb/s": "setting", "57 MB": "product of both"},
        **{"30 ms": "setting", "500 Mb/s": "setting"},
        **{"2185 Mb/s": "figure of 2003", "50 MB": "figure of 2003"},
        "67 MB": "buffer of 32 M, doubled",
    },
    "21-fleet": {"10 %": "rule", "2 %": "rule"},
}
"""Figures that are settings, rules or published, by notebook: no campaign changes them."""


RESULTS = re.compile(r"netlab\.(Results|Fleet|import_files)\(|\bcomparison\(|\.compare\(")
SHOWN = [path for path in NOTEBOOKS if RESULTS.search(text_of(path, "code"))]


def test_the_notebooks_of_measured_results_are_known():
    names = [path.stem[:2] for path in SHOWN]
    assert names == ["03", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24"]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_a_figure_in_prose_is_a_setting_a_rule_or_published(path):
    found = set(FIGURE.findall(text_of(path, "markdown")))
    assert found == set(STATED.get(path.stem, {}))


@pytest.mark.parametrize(
    ("sentence", "figures"),
    [
        ("28 MB arrive at once, every 93 to 97 ms", ["28 MB", "93 to 97 ms"]),
        ("23 s to fill this path with frames of 9000 B", ["23 s"]),
        ("these rows stay below 100 %", ["100 %"]),
        ("frames of 1500 B and `tcp_wmem`", []),
    ],
)
def test_a_measured_figure_is_found(sentence, figures):
    assert FIGURE.findall(sentence) == figures


ANALYSES = [path for path in NOTEBOOKS if 15 <= int(path.stem[:2]) <= 22 or path.stem[:2] == "03"]


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.stem)
def test_an_analysis_ends_with_the_frame_behind_it_and_the_line_that_draws_it(path):
    *_, text, code = read(path).cells
    assert text.source.startswith("## The frame behind this\n")
    assert text.cell_type == "markdown" and code.cell_type == "code"
    name = re.search(r"^frame = (\w+\.\w+)$", code.source, re.MULTILINE)[1]
    assert f"`{name}`" in text.source
    (line,) = [line for line in code.source.splitlines() if "sns." in line]
    assert "(frame, " in line
    # words of its own: seaborn writes no labels for a frame without a value
    assert re.search(r'(netlab\.show\(ax, |\nabout = )"[A-Z][^"]+"', code.source)
    assert code.source.splitlines()[-1].startswith("netlab.show(ax, ")


@pytest.mark.parametrize("path", ANALYSES, ids=lambda path: path.stem)
def test_the_start_of_an_analysis_loads_no_seaborn(path):
    first, *_, last = [cell.source for cell in read(path).cells if cell.cell_type == "code"][1:]
    assert "import netlab" in first and "seaborn" not in first and "import seaborn" in last


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_short_and_has_no_output(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.cells[0].cell_type == "markdown"
    assert "**What it touches" in notebook.cells[0].source
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", ())]
    assert tags.count("parameters") == 1
    assert any("netlab.check_parameters(globals()" in cell.source for cell in notebook.cells)
    for cell in notebook.cells:
        assert not cell.get("outputs"), cell.source[:60]
        assert cell.get("execution_count") is None, cell.source[:60]
        assert not {"papermill", "execution", "scrolled", "collapsed"} & set(cell.metadata)
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ()):
            assert len(cell.source.splitlines()) <= 10, cell.source[:60]


def test_there_is_one_notebook_to_start_with_and_all_are_tracked():
    assert NOTEBOOKS[0].name == "00-start-here.ipynb"
    listed = subprocess.run(
        ["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {path.relative_to(ROOT).as_posix() for path in NOTEBOOKS} == {*listed.stdout.split()}
