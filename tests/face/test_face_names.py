"""`import netlab` is quick and shows what a notebook needs."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

import pandas as pd
import pytest
from refusals import refused

import netlab
from netlab import wings
from netlab.errors import BadInput

IMPORT_CPU_S = 0.3


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_names_are_few():
    core = [
        *("Results", "Study", "__version__", "check_parameters", "compare", "concat", "export"),
        *("palette", "show", "theme", "transfer"),
    ]
    assert dir(netlab) == sorted([*core, *wings.names()])


def test_importing_is_quick():
    """CPU time, since wall time depends on the load of the machine."""
    code = "import time; t = time.process_time(); import netlab; print(time.process_time() - t)"
    assert float(run(code)) < IMPORT_CPU_S


LOADED = "print([n for n in {!r} if n in sys.modules])"
HEAVY = ("pandas", "numpy", "matplotlib", "pydantic", "papermill", "fabric")
CODE = {
    "from netlab import *; print(Study.__name__, transfer.__name__)": "Study transfer",
    f"import sys, netlab; {LOADED.format(HEAVY)}": "[]",
    "import sys, netlab; netlab.Study('openlab-2003').plan(); "
    + LOADED.format(("matplotlib", "papermill", "fabric")): "[]",
    "import sys, netlab; netlab.check_parameters({}); "
    + LOADED.format(("seaborn", "scipy", "papermill")): "[]",
}


@pytest.mark.parametrize(
    ("code", "printed"), CODE.items(), ids=["star", "import", "plan", "first cell"]
)
def test_names_are_there_and_load_what_they_need_alone(code, printed):
    assert run(code) == printed


def test_another_name_is_an_error_that_names_it():
    with pytest.raises(AttributeError, match="'netlab' has no attribute 'Stody'"):
        netlab.Stody  # noqa: B018


def test_charts_and_tables_list_what_they_offer_and_types_are_there():
    from netlab.face.views import ResultCharts, ResultTables

    for view in (ResultCharts, ResultTables):
        lines = repr(view(None)).splitlines()
        offered = [name for name in dir(view) if not name.startswith("_")]
        assert [line.split()[0] for line in lines] == offered and len(lines) > 3
        assert all(len(line.split()) > 2 for line in lines), lines
    assert resources.files("netlab").joinpath("py.typed").is_file()


@pytest.mark.parametrize(
    "wrong", [pd.DataFrame({"a": [1]}), 3, ["x"]], ids=["frame", "number", "list"]
)
def test_what_is_neither_a_name_nor_a_path_is_refused_in_a_sentence(wrong):
    for call in (
        lambda: netlab.Results(wrong),
        lambda: netlab.Results("openlab-2003", results=wrong),
        lambda: netlab.concat({"a": wrong}),
        lambda: netlab.compare(wrong, "openlab-2003"),
        lambda: netlab.compare("openlab-2003", wrong),
        lambda: netlab.export(pd.DataFrame({"a": [1]}), wrong),
    ):
        with refused(BadInput, "E-FILES-090") as refusal:
            call()
        assert f"of type {type(wrong).__name__}" in str(refusal.value)


def test_lists_of_charts_and_tables_are_plain_text():
    results = netlab.Results("openlab-2003")
    for offered in (results.charts, results.tables):
        lines = repr(offered).splitlines()
        assert len(lines) > 5 and "`" not in repr(offered)
        assert all(len(line.split(maxsplit=1)) == 2 for line in lines)
