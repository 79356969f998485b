"""A search by ``netlab autotune`` on a lab."""

import time

import yaml
from e2e.conftest import run_netlab
from lab_study import lab_study

BUDGET_S = 30
"""Enough for races over all factors, so that the last one is between their winners."""


def search(tmp_path, *argv, **group):
    """Search with a seed; foreign load counts, as a shared machine has little else."""
    content = lab_study(name="tuned").model_dump(mode="json")
    content["groups"][0].update(group)
    study = tmp_path / "tuned.yml"
    study.write_text(yaml.safe_dump(content))
    began = time.monotonic()
    files = ("--output", str(tmp_path / "best.yml"), "--chart", str(tmp_path / "best.svg"))
    how = ("--study", str(study), "--seed", "5", "--noisy", "--seconds", str(BUDGET_S))
    done = run_netlab("autotune", "a-b", *how, *files, *argv)
    return done, time.monotonic() - began
