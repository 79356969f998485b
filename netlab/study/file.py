"""A study's YAML file becomes a study."""

from __future__ import annotations

from pathlib import Path

from netlab.errors import BadInput
from netlab.files.yaml_file import read_yaml, validated
from netlab.study.base import QUICK
from netlab.study.design import Study
from netlab.study.wad_conf import with_wad_conf


def load(path: Path | str, *, quick: bool = False, **timing: float | int | None) -> Study:
    """Load a study from YAML.

    Parameters
    ----------
    path : path-like
        The YAML file.
    quick : bool
        Take the study's ``quick`` timing; its name then ends in ``-quick``.
    **timing
        ``repeats``, ``seconds``, ``warmup_s``, ``interval_ms``, ``drain_s`` or ``seed`` in place of
        the file's; None leaves the file's value.

    Raises
    ------
    BadInput
        Anything in the file or in ``timing`` that cannot be used.
    """
    where = str(path)
    study = validated(Study, with_wad_conf(read_yaml(path), Path(path)), where)
    if quick:
        if study.quick is None:
            raise BadInput("has no quick timing", where=where, key="quick")
        groups = tuple(group.in_short() for group in study.groups if group.short)
        changed = {"timing": study.quick, "quick": None, "name": f"{study.name}{QUICK}"}
        study = study.model_copy(update={**changed, "groups": groups})
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
