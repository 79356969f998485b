"""A study's YAML file becomes a study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from netlab.errors import BadInput
from netlab.files.yaml_file import read_yaml, validated
from netlab.study.design import Study
from netlab.study.short import short_form
from netlab.study.wad_conf import with_wad_conf


def load(path: Path | str | Mapping, *, quick: bool = False, **timing: float | int | None) -> Study:
    """Load a study from YAML.

    Parameters
    ----------
    path : path-like or mapping
        The YAML file, or the content of one.
    quick : bool
        Take the study's short form: its ``quick`` timing, or one derived from its own where
        it gives none. The name then ends in ``-quick``.
    **timing
        ``repeats``, ``seconds``, ``warmup_s``, ``interval_ms``, ``drain_s`` or ``seed`` in place of
        the file's; None leaves the file's value.

    Raises
    ------
    BadInput
        Anything in the file or in ``timing`` that cannot be used.
    """
    if isinstance(path, Mapping):
        content, where = dict(path), "study"
    else:
        content, where = with_wad_conf(read_yaml(path), Path(path)), str(path)
    study = validated(Study, content, where)
    if quick:
        study = short_form(study, where)
    given = {key: value for key, value in timing.items() if value is not None}
    known = {"repeats", "seconds", "warmup_s", "interval_ms", "drain_s", "seed"}
    for key in given:
        if key not in known:
            raise BadInput(f"no such timing; there are {', '.join(sorted(known))}", key=key)
    if given:
        content = study.model_dump(mode="python")
        if "seed" in given:
            content["seed"] = given.pop("seed")
        content["timing"] = {**content["timing"], **given}
        study = validated(Study, content, where)
    return study
