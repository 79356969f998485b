"""The examples of the documentation of netlab's face, each as a test."""

from __future__ import annotations

import doctest
import importlib
import io
import pkgutil
from functools import cached_property

import netlab.face
from netlab import wings
from netlab.face import stored

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ON_A_LAB = {"Study.changes", "Study.run", "Study.measure", "Study.screen", "Study.mlrsearch"}
"""Examples that make hosts."""
OFFERED = {**wings.names(), **wings.results(), **wings.methods()}
OF_WINGS = {target.partition(":")[0] for target in OFFERED.values()}
MODULES = tuple(
    importlib.import_module(name)
    for name in sorted(
        OF_WINGS
        | {f"netlab.face.{module.name}" for module in pkgutil.iter_modules(netlab.face.__path__)}
    )
)
WHOLE_REPORT = {"Results.report"}
"""Examples that take a minute."""


def examples() -> dict[str, doctest.DocTest]:
    """Every example of the face, by the name of what it belongs to."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {}
    for module in (netlab, *MODULES):
        for test in finder.find(module, module.__name__):
            if test.examples:
                name = test.name.removeprefix(f"{module.__name__}.")
                found[name.removeprefix("Stored")] = test  # what Results has from its base
    for owner, offered in (("Study", wings.methods()), ("Results", wings.results())):
        for name, target in offered.items():
            made_by = target.partition(":")[2]
            if made_by in found:
                found[f"{owner}.{name}"] = found.pop(made_by)
    for name, member in vars(stored.StoredResults).items():
        if isinstance(member, cached_property):  # the finder sees plain properties only
            for test in finder.find(member.func, f"Results.{name}", globs={}):
                found[test.name] = test
    return found


def failures(test: doctest.DocTest) -> str:
    """Differences of an example's output from its text; empty if equal."""
    said = io.StringIO()
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=said.write)
    return said.getvalue()
