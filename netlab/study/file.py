"""A study's YAML file and the tunings beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.errors import BadInput
from netlab.files import paths
from netlab.files.yaml_file import read_yaml, refuse_places, validated
from netlab.study.base import NAME
from netlab.study.design import Study
from netlab.study.factor_checks import outer_columns
from netlab.study.published import with_published
from netlab.study.rate_trace import with_traces
from netlab.study.shortened import short_form
from netlab.study.tuning_checks import check_exact
from netlab.study.tunings import OwnTuning
from netlab.study.wad_conf import with_wad_conf
from netlab.tuning.profiles import AS_FOUND, inexact

INEXACT = "E-STUDY-089"
"""Code of a knob that is not known to revert exactly, without a risk."""

TIMING = ("rounds", "seconds", "warmup_s", "interval_ms", "drain_s")
PRECISION = {"precision": "half_width_percent", "max_rounds": "max_rounds", "budget": "budget"}
"""Arguments of :func:`load`, and the keys of a precision that they replace."""


def load(
    path: Path | str | Mapping, *, quick: bool = False, **timing: float | int | str | None
) -> Study:
    """Load a study from YAML.

    A tuning is searched for in this order: inline in its level, under the study's ``profiles``,
    in ``tunings/NAME.yml`` beside the study's file, in ``NAME.yml`` beside it, and last among
    those that netlab brings. ``as-found`` is always netlab's. A study inside results or a bundle
    stands alone, see :func:`load_stored`.
    """
    if isinstance(path, Mapping):
        content, where = dict(path), "study"
    else:
        content, where = read_yaml(path), str(path)
        if not paths.is_stored(path):
            content = with_wad_conf(with_traces(content, Path(path)), Path(path))
            content = with_published(_with_neighbours(content, Path(path)), Path(path))
    study = validated(Study, content, where)
    if not (isinstance(path, str | Path) and paths.is_stored(path)):
        refuse_places(content, where, check_exact(study), code=INEXACT)
        refuse_places(content, where, outer_columns(study), code="E-STUDY-142")
    if quick:
        study = short_form(study, where)
    stated = {key: value for key, value in timing.items() if value is not None}
    keys = {*TIMING, *PRECISION, "seed"}
    for key in (key for key in stated if key not in keys):
        reason = f"no such timing; there are {', '.join(sorted(keys))}"
        raise BadInput(reason, key=key, code="E-STUDY-001")
    return validated(Study, _with_timing(study, stated), where) if stated else study


def load_stored(file: Path) -> Study:
    """Load the study that stands beside results, in a bundle or in the plan of a fleet.

    It is data, whoever made it: it stands alone (:func:`netlab.study.frozen.freeze`), and no file
    that it names is read.
    """
    return validated(Study, read_yaml(file), str(file))


def _with_timing(study: Study, given: dict[str, float | int | str]) -> dict[str, Any]:
    """The content of a study with some of its times replaced."""
    content = study.model_dump(mode="python")
    content["seed"] = given.get("seed", study.seed)
    times = {key: given[key] for key in TIMING if key in given}
    content["timing"] |= times
    for group in content["groups"]:
        if group["timing"] is not None:
            group["timing"] |= {key: None for key in times if key in group["timing"]}
    asked = {PRECISION[key]: value for key, value in given.items() if key in PRECISION}
    if "rounds" in given:
        content["precision"] = asked or None  # both together are refused by the study
    elif asked:
        content["precision"] = {**(content["precision"] or {}), **asked}
        content["timing"]["rounds"] = None
    return content


class _TuningFile(OwnTuning):
    """A tuning in a file of its own; its name, if given, is the file's."""

    name: str = ""


def _with_neighbours(content: dict[str, Any], file: Path) -> dict[str, Any]:
    """Add the tunings that stand beside the file and that it names to its ``profiles``."""
    own = content.get("profiles", {})
    if not isinstance(own, dict):
        return content
    wanted, inline = _named(content)
    beside: dict[str, OwnTuning] = {}
    while wanted:
        name = wanted.pop()
        if name in {*beside, *own, *inline, AS_FOUND}:
            continue
        if tuning := _beside(name, file):
            beside[name] = tuning
            wanted += [tuning.extends] if tuning.extends else []
    return {**content, "profiles": {**own, **beside}} if beside else content


def _named(content: dict[str, Any]) -> tuple[list[str], set[str]]:
    """Names of tunings in a study that is not validated yet; and the inline ones among them."""
    levels = _mappings(content.get("tunings"), list)
    inline = [level for level in levels if "knobs" in level or "extends" in level]
    names: list[Any]
    names = [level.get("profile", level.get("name")) for level in levels if level not in inline]
    names += [one.get("extends") for one in (*inline, *_mappings(content.get("profiles")))]
    for host in _mappings(content.get("hosts")):
        profiles = host.get("profiles")
        names += profiles.values() if isinstance(profiles, dict) else []
    good = [name for name in names if isinstance(name, str) and re.fullmatch(NAME, name)]
    return good, {str(level.get("name")) for level in inline}


def _mappings(value: Any, kind: type[dict] | type[list] = dict) -> list[dict]:
    """The mappings of a mapping or a list; none of anything else."""
    if not isinstance(value, kind):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [part for part in parts if isinstance(part, dict)]


def _beside(name: str, file: Path) -> OwnTuning | None:
    """The tuning of that name beside the study's file; None if there is no such file."""
    for path in (file.parent / "tunings" / f"{name}.yml", file.parent / f"{name}.yml"):
        if not os.path.isfile(path) or os.path.samefile(path, file):
            continue
        content = read_yaml(path)
        if "netlab" in content:  # another study
            continue
        tuning = validated(_TuningFile, content, str(path))
        refuse_places(content, str(path), inexact(tuning), code=INEXACT)
        if (own := tuning.name) not in ("", name):
            reason = "differs from the file's name"
            raise BadInput(reason, where=str(path), key="name", value=own, code="E-STUDY-002")
        return OwnTuning.model_validate(tuning.model_dump(exclude={"name"}))
    return None
