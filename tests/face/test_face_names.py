"""`import netlab` is quick and shows what a notebook needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import netlab

IMPORT_CPU_S = 0.3


def run(code: str) -> str:
    """Output of a new Python process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_names_are_few():
    assert dir(netlab) == [
        *("Fleet", "Results", "Study", "__version__", "check_parameters", "claims", "compare"),
        *("document", "import_files", "load_published", "show", "transfer"),
    ]


def test_star_import_brings_the_same_names():
    there = run("from netlab import *; print(Study.__name__, Results.__name__, transfer.__name__)")
    assert there == "Study Results transfer"


def test_importing_is_quick():
    """CPU time, since wall time depends on the load of the machine."""
    code = "import time; t = time.process_time(); import netlab; print(time.process_time() - t)"
    assert float(run(code)) < IMPORT_CPU_S


def test_importing_loads_no_library():
    code = (
        "import sys, netlab; print([n for n in ('pandas', 'numpy', 'matplotlib', 'pydantic', "
        "'papermill', 'fabric') if n in sys.modules])"
    )
    assert run(code) == "[]"


def test_a_study_is_planned_without_heavy_imports():
    code = (
        "import sys, netlab; netlab.Study('openlab-2003').plan(); "
        "print([n for n in ('matplotlib', 'papermill', 'fabric') if n in sys.modules])"
    )
    assert run(code) == "[]"


def test_another_name_is_an_error_that_names_it():
    with pytest.raises(AttributeError, match="'netlab' has no attribute 'Stody'"):
        netlab.Stody  # noqa: B018
