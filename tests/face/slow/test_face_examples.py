"""Every public name of the face has an example, and the examples are true."""

from __future__ import annotations

import inspect

import pytest
from face.examples import ON_A_LAB, WHOLE_REPORT, examples, failures
from numpydoc.docscrape import FunctionDoc

import netlab
from netlab import wings

EXAMPLES = examples()
QUICK = sorted(set(EXAMPLES) - ON_A_LAB - WHOLE_REPORT)


def documented() -> dict[str, object]:
    """The functions, classes and methods that a notebook uses."""
    found = {name: getattr(netlab, name) for name in dir(netlab) if not name.startswith("_")}
    for owner in (netlab.Study, netlab.Results):
        for name, member in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                found[f"{owner.__name__}.{name}"] = member
    return found | {f"Study.{name}": wings.load(of) for name, of in wings.methods().items()}


@pytest.mark.parametrize("name", documented())
def test_a_name_of_the_face_is_documented_with_an_example(name):
    assert name in EXAMPLES
    text = FunctionDoc(documented()[name])
    assert text["Summary"] and text["Examples"]
    assert text["Parameters"] or name in {"Study.plan", "claims", "theme"}


@pytest.mark.parametrize("name", ["runs", "cells", "intervals"])
def test_a_frame_of_the_results_is_documented_with_an_example(name):
    assert f"Results.{name}" in EXAMPLES


@pytest.mark.parametrize("name", QUICK)
def test_an_example_is_true(name, home):
    found = failures(EXAMPLES[name])
    assert found == "", found


def test_the_check_of_examples_sees_one_that_is_not(home):
    import doctest

    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert "Expected" in failures(wrong)


def test_every_example_that_needs_more_is_one():
    assert set(EXAMPLES) >= ON_A_LAB | WHOLE_REPORT
