"""Results of the user's own, else the example that comes with netlab, and which they are."""

from __future__ import annotations

import html
import itertools
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netlab.files import paths
from netlab.files.tables import Sentence
from netlab.study import QUICK, Study
from netlab.study.factors import level_text


def own_or_example(name: str | Path) -> str | Path:
    """The name of a study, or the directory of its example where the user has no results of it."""
    paths.given_path(name)  # refuses what cannot be one, such as a frame
    study = str(name).removesuffix(QUICK)
    example = paths.example(study)
    own = (paths.results_dir(form).is_dir() for form in (study, study + QUICK))
    measured = "/" not in study and any((example / one).is_dir() for one in ("runs", "fleet"))
    return example if measured and not any(own) else name


@dataclass(frozen=True)
class Example(Sentence):
    """Names an example, with the ways to measure one's own: a click selects one."""

    command: str
    call: str = ""
    """In Python; empty where only a command measures it."""

    def _repr_html_(self) -> str:
        style = "user-select:all;white-space:pre-wrap"
        lines = "".join(
            f'<p>{words}:</p><pre style="{style}">{html.escape(code)}</pre>'
            for words, code in self._ways()
        )
        return f"{super()._repr_html_()}{lines}"

    def __repr__(self) -> str:
        return "\n".join([self.text, *(f"{words}: {code}" for words, code in self._ways())])

    def _ways(self) -> list[tuple[str, str]]:
        terminal = ("To measure your own, in a terminal", self.command)
        here = [("To measure your own, in Python", self.call), ("In a terminal", self.command)]
        return here if self.call else [terminal]


def source(
    study: Study, directory: Path, runs: pd.DataFrame, command: Sequence[str] = ()
) -> Sentence:
    """Say which results are shown; of an example also how one's own are measured."""
    measured = f"{study.name}, measured on {runs['started_at'].max():%Y-%m-%d}"
    if not directory.is_relative_to(paths.example("")):
        return Sentence(f"Results of {measured}.")
    outer = [
        [f"--outer={name}={level_text(level)}" for level in levels]
        for name, levels in study.outer.items()
    ]
    words = command or ("run", study.name.removesuffix(QUICK), "--quick")
    # A terminal of JupyterLab is a login shell in a directory of its own, with a PATH of its own.
    root, program = paths.root_dir(), Path(sys.executable).with_name("netlab")
    if program.is_relative_to(root):
        program = program.relative_to(root)
    calls = [(str(program), *words, *options) for options in itertools.product(*outer)]
    shell = " && ".join(map(shlex.join, [("cd", str(root)), *calls]))
    text = f"Example that comes with netlab: {measured}."
    return Example(text, shell, "" if command else _call(study))


def _call(study: Study) -> str:
    """The call that measures a study, for each level of the factors that a person sets."""
    run = f"netlab.Study({study.name.removesuffix(QUICK)!r}, quick=True).run"
    outer = [[(name, level) for level in levels] for name, levels in study.outer.items()]
    each = [dict(levels) for levels in itertools.product(*outer)] if outer else []
    return "; ".join(f"{run}(outer={levels!r})" for levels in each) or f"{run}()"
