"""`import netlab` is quick and shows what a notebook needs."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

import pytest

import netlab
from netlab import wings

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
