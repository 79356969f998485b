"""Tab within the quotes of an argument offers the words that the argument takes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import netlab
from netlab.face.completion import words

COLUMNS, QUANTITIES = ["goodput_MBps", "percent_of_bus"], ["goodput", "percent", "both"]


@pytest.mark.parametrize(
    ("code", "offered"),
    [
        ('results.plot(y="', COLUMNS),
        ("ax = results.plot('Linux64 -> Linux64', y='per", ["percent_of_bus"]),
        ('results.plot(\n    "Linux64 -> Linux64",\n    y="', COLUMNS),
        ('results.tables.cells("', [*QUANTITIES, "bottleneck"]),
        ('results.tables.by_factors(quantity="', QUANTITIES),
        ('netlab.document("sl', ["slac"]),
        ('results.plot("', []),
        ('results.plot(z="', []),
        ('results.cells.query("', []),
        ('results.nothing.plot(y="', []),
        ('unknown.plot(y="', []),
        ('netlab.Results("openlab-2003").plot(y="', []),
        ('print("', []),
        ("results.plot(y=", []),
    ],
)
def test_words_are_those_of_the_type_of_the_argument(code, offered):
    assert words(code, {"results": netlab.Results("openlab-2003"), "netlab": netlab}) == offered


def test_no_property_is_computed_for_it():
    class Slow(netlab.Results):
        @property
        def tables(self):
            raise AssertionError("computed")

    assert words('results.tables.cells("', {"results": Slow("openlab-2003")}) == []
    assert words('results.plot(y="', {"results": Slow("openlab-2003")}) == COLUMNS


SESSION = """
import json
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import netlab\\nresults = netlab.Results('openlab-2003')", silent=True)
shell.run_cell("netlab.Study, netlab.compare", silent=True)
with provisionalcompleter():
    for code in ('results.plot(y="', "results.pl", "import o"):
        print(json.dumps([one.text for one in shell.Completer.completions(code, len(code))]))
"""


def test_a_session_of_ipython_offers_them_and_goes_on_to_complete_names():
    command = [sys.executable, "-c", SESSION]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values, names, imported = map(json.loads, done.stdout.splitlines())
    assert values == COLUMNS
    assert "plot" in names and "os" in imported
