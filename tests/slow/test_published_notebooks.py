"""The notebooks of the published side: they run alone, quickly, and show what they promise."""

import re
import resource
from pathlib import Path

import nbformat
import openings
import papermill
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
# Text that must be in the outputs, the least number of figures and tables, and a written file.
PROMISED = {
    "10-openlab-2003": (
        ["Table 1: Original results", "<strong>774</strong>", "was not met", "Linux32 ↔ Linux64"],
        19, 13, "openlab-2003-table-6.csv",
    ),
    "11-preliminary-2003": (
        ["Set 2: improved kernel parameters", "716", "misprint", "left out of table 1"],
        7, 6, "preliminary-2003-kernel.tex",
    ),
    "12-slac-2003": (
        ["57.2", "3614.6", "2185.476", "sysctl -w net.core.rmem_max=67108864"],
        3, 6, "slac-2003-recovery.csv",
    ),
    "13-gigabit-hosts": (
        ["955", "3.89", "ndd -set /dev/tcp tcp_max_buf 4194304", "reg add", "lo: no bus"],
        1, 3, "gigabit-tuning.tex",
    ),
    "14-claims": (
        ["Claims that are contradicted (13)", "tot:614", "not checkable", "3.49 discs"],
        1, 8, "claims.csv",
    ),
}  # fmt: skip


def _children_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module", params=PROMISED)
def executed(request, tmp_path_factory):
    """One notebook run by papermill: its name, its result, where it wrote, its CPU time."""
    place = tmp_path_factory.mktemp(request.param)
    before_s = _children_cpu_s()
    result = papermill.execute_notebook(
        NOTEBOOKS / f"{request.param}.ipynb",
        place / "out.ipynb",
        parameters={"export_dir": str(place / "tables")},
        kernel_name="python3",
        progress_bar=False,
        cwd=place,
    )
    return request.param, result, place, _children_cpu_s() - before_s


def _outputs(notebook):
    """Text and HTML of all outputs."""
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
            data = output.get("data", {"text/plain": output.get("text", "")})
            parts += [
                str(data.get(kind, "")) for kind in ("text/html", "text/markdown", "text/plain")
            ]
    return "\n".join(parts)


def test_it_shows_what_it_promises(executed):
    name, notebook, _, _ = executed
    text = _outputs(notebook)
    words, figures, tables, _ = PROMISED[name]
    assert [word for word in words if word not in text] == []
    openings.check(notebook)
    assert text.count("<figure") == figures
    assert text.count("<table") >= tables


def test_every_figure_has_alt_text(executed):
    images = re.findall(r"<img [^>]*>", _outputs(executed[1]))
    assert all(re.search(r'alt="[^"]{40,}"', image) for image in images)


def test_it_takes_less_than_thirty_seconds(executed):
    """CPU time, since wall time depends on the load of the machine."""
    assert 0 < executed[3] < 30


def test_it_writes_its_tables_to_the_directory_requested(executed):
    name, _, place, _ = executed
    assert (place / "tables" / PROMISED[name][3]).stat().st_size > 100
    assert {path.name for path in place.iterdir()} == {"out.ipynb", "tables"}


@pytest.mark.parametrize("name", PROMISED)
def test_it_is_stored_without_outputs(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
            assert len(cell.source.splitlines()) <= 12


@pytest.mark.parametrize("name", PROMISED)
def test_it_opens_with_a_summary_and_has_parameters(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    opening = notebook.cells[0].source
    for promise in (
        "**What you learn.**",
        "**Where the figures come from.**",
        "**What it touches.**",
    ):
        assert promise in opening
    tagged = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) == 1 and 'export_dir = ""' in tagged[0].source
    assert "netlab.check_parameters(globals(), export_dir=str)" in notebook.cells[2].source


@pytest.mark.parametrize("parameters", [{"exprt_dir": "x"}, {"export_dir": 3}])
def test_a_wrong_parameter_is_an_error(parameters, tmp_path):
    with pytest.raises(papermill.PapermillExecutionError) as caught:
        papermill.execute_notebook(
            NOTEBOOKS / "14-claims.ipynb",
            tmp_path / "out.ipynb",
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            cwd=tmp_path,
        )
    assert caught.value.ename == "BadInput"
    assert "export_dir" in caught.value.evalue
