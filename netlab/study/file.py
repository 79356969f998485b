"""A study's YAML file and the tunings beside it; the study that imported runs imply."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from netlab.errors import BadInput
from netlab.files import paths
from netlab.files.bounded_json import parse_json
from netlab.files.writing import write_text
from netlab.files.yaml_file import read_yaml, refuse_places, validated, yaml_text
from netlab.study import flows
from netlab.study.base import MAX_NAME, MAX_ROUNDS, NAME, QUICK
from netlab.study.design import Study
from netlab.study.factors import (
    OF_EMULATOR,
    OF_GROUP,
    OF_LINK,
    OF_POLICY,
    OF_REVERSE,
    OF_SOCKET,
    OF_STUDY,
    OF_UDP,
    crossed,
    link_name,
)
from netlab.study.groups import Group, Timing
from netlab.study.model import complete
from netlab.study.published import Described, with_published
from netlab.study.rate_trace import with_traces
from netlab.study.tuning_checks import check_exact
from netlab.study.tunings import KERNEL, LINUX, OwnTuning, WadStack, with_wad_conf
from netlab.tuning.profiles import AS_FOUND, inexact

if TYPE_CHECKING:
    import pandas as pd

# Copy of a study beside its results: timing resolved, tunings included.


def freeze(study: Study, directory: Path) -> Path:
    """Write the study as it is measured beside its results.

    Its timing is resolved, and it carries the content of every tuning, so that a block can be run
    from it alone.
    """
    return write_text(directory / "study.yml", yaml_text(_content(study)))


def short_text(study: Study) -> str:
    """The YAML of a study for people: without what is left at its default."""
    content = study.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return yaml_text({"netlab": 1, **content})


def frozen_text(study: Study) -> str:
    """The YAML of :func:`freeze` without ``report``; equal for studies that measure the same."""
    return yaml_text({key: value for key, value in _content(study).items() if key != "report"})


def _content(study: Study) -> dict:
    content = study.model_dump(mode="json")
    content["quick"] = None
    content["profiles"] = complete(study)
    if content["report"] is None:
        del content["report"]
    else:  # names alone, to say which are left out
        names = [Path(name).name for name in content["report"]["notebooks"]]
        content["report"]["notebooks"] = names
    return content


# The short form of a study: a first look that takes a fraction of the time.

SHORT_ROUNDS = 3
"""The fewest that give an interval."""
SHARE = 0.25
"""Of the study's measured seconds."""
LEAST_S, MOST_S = 0.5, 10.0
SAMPLES = 5
"""The fewest samples of a run."""


def derived_timing(study: Study) -> Timing:
    """Timing of the short form of a study that does not give one under ``quick``.

    At most three rounds of a quarter of the seconds, within 0.5 and 10 s and never more than the
    study's own. The warm-up stays: how long a path needs to settle does not depend on the form.
    The seconds stay too where a shorter run would be over before a loss that a group forces, or
    before its unequal flows have all been on.
    """
    timing = study.timing
    seconds = min(timing.seconds, max(LEAST_S, min(MOST_S, timing.seconds * SHARE)))
    for group in study.groups:
        own = group.records is not None or group.timing is not None or not group.short
        planned_s = (
            ()
            if own
            else (group.force_loss_at_s, flows.needed_s(group.flows, timing.interval_ms / 1e3))
        )
        ends_s = timing.warmup_at(_least_rtt_s(study, group)) + seconds
        if any(at_s is not None and at_s >= ends_s for at_s in planned_s):
            seconds = timing.seconds
    interval_ms = max(10, min(timing.interval_ms, int(seconds * 1000 / SAMPLES)))
    return timing.model_copy(
        update={
            "rounds": min(study.max_rounds, SHORT_ROUNDS),
            "seconds": seconds,
            "interval_ms": interval_ms,
        }
    )


def _least_rtt_s(study: Study, group: Group) -> float:
    """Least RTT of the links that a group measures, s: its shortest runs have that warm-up."""
    links = {link_name(group.path, one.of_link) for one in study.combinations(group)}
    return min((study.longest_rtt_s(group, link) for link in links), default=0.0)


def short_form(study: Study, where: str) -> Study:
    """The study with its short timing and the groups that are for it; its name ends in ``-quick``.

    It has fixed rounds: a precision asked of the whole study does not apply.
    """
    name, most = study.name, MAX_NAME - len(QUICK)
    if study.quick is None and name.endswith(QUICK):
        reason = "this is the short form of a study already; leave out --quick"
        raise BadInput(reason, where=where, key="name", value=name, code="E-STUDY-004")
    if len(name) > most:
        limit = f"and a name has {MAX_NAME} characters at most; shorten it to {most}"
        reason = f"the short form adds {QUICK!r}, {limit}"
        raise BadInput(reason, where=where, key="name", value=name, code="E-STUDY-005")
    groups = tuple(_shortened(study, group) for group in study.groups if group.short)
    if not groups:
        reason = "no group is for the short form; leave out `short: false` of one, or --quick"
        raise BadInput(reason, where=where, key="groups", code="E-STUDY-006")
    timing = study.quick or derived_timing(study)
    update = {"name": f"{name}{QUICK}", "groups": groups, "timing": timing}
    return study.model_copy(update={**update, "precision": None, "quick": None})


def _shortened(study: Study, group: Group) -> Group:
    """A group in the short form: its own short timing, or one derived from its own timing."""
    timing = group.quick
    if timing is None and group.timing is not None:
        alone = group.model_copy(update={"timing": None})
        whole = {"timing": group.timing.over(study.timing), "groups": (alone,)}
        derived = derived_timing(study.model_copy(update=whole))
        short = {"seconds": derived.seconds, "interval_ms": derived.interval_ms}
        timing = group.timing.model_copy(update=short)
    records = {"records": group.quick_records or group.records, "quick_records": None}
    return group.model_copy(update={**records, "timing": timing, "quick": None})


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

    It is data, whoever made it: it stands alone (:func:`netlab.study.file.freeze`), and no file
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


# JSON Schema and reference of a study file, from its models.

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PARTS = (
    *("Study", "StudyHost", "Bus", "Path", "End", "LabLink", "Emulator", "Reverse", "Second"),
    *("RateTrace", "Group"),
    *("PlannedFlow", "Timing", "GroupTiming", "Precision", "Noise", "TuningLevel", "OwnTuning"),
    *("Knob", "Choice"),
    *("KnobOption", "HostSetting", "Factors", "Socket", "Policy", "Latency", "Udp"),
    *("Stack", "WadStack", "Published", "PublishedStep", "ReportPages"),
)
"""Models in the order of the reference."""
_PLAIN = re.compile(r"[A-Za-z<~][^\n:#{}\[\],&*?|'\"%@`]*|-> ?[a-z ]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}


class _Unsorted(GenerateJsonSchema):
    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value  # keys of examples, too, keep the order that readers expect


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file, as an editor takes it.

    Rules that join several keys, such as that a group's sender is an end of its path, are beyond
    it: ``netlab check`` tests those.
    """
    schema = _schema()
    for part in (schema, *schema["$defs"].values()):
        for place in (part, *part.get("properties", {}).values()):
            place["description"] = place["description"].replace("`", "")
    return {"$schema": DIALECT, "title": "A study of netlab", **schema}


def _schema() -> dict[str, Any]:
    schema = Study.model_json_schema(schema_generator=_Unsorted)
    _refuse_other_names(schema)
    parts = schema["$defs"]
    for model in (Described, WadStack):
        part = model.model_json_schema(schema_generator=_Unsorted)
        part.pop("$defs", None)  # those of the study
        parts[model.__name__] = part
    # what is converted before the model sees it
    refs = {name: {"$ref": f"#/$defs/{name}"} for name in parts}
    whole = schema["properties"]
    table = [refs["Described"], refs["Published"], {"type": "null"}]
    whole["published"]["anyOf"] = [{"type": "string", "pattern": "^[^/]+$"}, *table]
    for way in ("Emulator", "Reverse"):
        file = {"type": "string", "minLength": 1}
        parts[way]["properties"]["trace"]["anyOf"] = [file, refs["RateTrace"], {"type": "null"}]
    (name,) = stacks = whole["stacks"]["patternProperties"]
    stacks[name] = {"anyOf": [refs["Stack"], refs["WadStack"]]}
    parts["Knob"]["required"].remove("source")
    _describe_levels(schema)
    for part in (schema, *parts.values()):
        part["description"] = part.pop("title")
        for place in part["properties"].values():
            place.pop("title", None)
    return schema


def _describe_levels(schema: dict[str, Any]) -> None:
    """Describe the keys that stand for those of another part."""
    parts = schema["$defs"]
    keys = {name: part["properties"] for name, part in (*parts.items(), ("Study", schema))}
    for name, place in keys["GroupTiming"].items():
        place |= {word: keys["Timing"][name][word] for word in ("description", "examples")}
    for names, part, text in (
        (OF_GROUP, "Group", "`{}` of a group"),
        (OF_STUDY, "Study", "`{}` of the study"),
        (OF_SOCKET, "Socket", "`socket.{}`"),
        (OF_POLICY, "Policy", "`policy.{}`"),
        (OF_UDP, "Udp", "`udp.{}`"),
        (OF_LINK, "LabLink", "`{}` of the path's link"),
        (OF_EMULATOR, "Emulator", "`{}` of the path's emulator"),
        (OF_REVERSE, "Reverse", "`reverse.{}` of the path's emulator"),
    ):
        for factor in names:
            name = factor.removeprefix("reverse_")
            if name not in keys[part] or (factor in OF_REVERSE) != (part == "Reverse"):
                continue
            examples = [keys[part][name]["examples"]]
            described = {"description": f"Levels of {text.format(name)}.", "examples": examples}
            keys["Factors"][factor] = described | keys["Factors"][factor]


def _refuse_other_names(place: object) -> None:
    """Allow only names of the pattern as keys of a mapping by name."""
    if isinstance(place, dict):
        if "patternProperties" in place:
            place["additionalProperties"] = False
        place = list(place.values())
    for part in place if isinstance(place, list) else ():
        _refuse_other_names(part)


def as_markdown() -> str:
    """The reference: a table of the keys of each part, with defaults and examples."""
    schema = _schema()
    models = {"Study": schema, **schema["$defs"]}
    described, published = models["Described"], models["Published"]  # either may stand in a file
    models["Published"] = {
        **published,
        "properties": described["properties"] | published["properties"],
        "required": set(described["required"]) & set(published["required"]),
    }
    parts = []
    for part in map(models.__getitem__, PARTS):
        rows = ["| key | | default | example |", "|---|---|---|---|"]
        for key, place in part["properties"].items():
            row = (
                f"`{key}`",
                place["description"] + _choices(place),
                "required" if key in part.get("required", ()) else _default(place),
                f"`{yaml_flow({key: place['examples'][0]})[1:-1]}`",
            )
            rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
        parts.append(f"## {part['description']}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _choices(place: dict[str, Any]) -> str:
    """The words that a key may have, as a sentence; empty where any value may stand."""
    ways = [place, *place.get("anyOf", ())]
    words = [word for way in ways for word in way.get("enum", ()) if isinstance(word, str)]
    return f" One of {', '.join(f'`{word}`' for word in words)}." if len(words) > 2 else ""


def _default(place: dict[str, Any]) -> str:
    value = place.get("default")
    whole = value is None or value == "" or isinstance(value, dict | list)
    return "" if whole else f"`{yaml_flow(value)}`"


def yaml_flow(value: Any) -> str:
    """A value as YAML in one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{yaml_flow(key)}: {yaml_flow(one)}" for key, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(yaml_flow, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


# The study that imported runs imply.


DESCRIPTION = (
    "Imported runs of other tools. Addresses and interfaces of the hosts, and what a tuning set, "
    "are not known; those below stand in for them."
)
UNKNOWN = "unknown"
PLACES = ("192.0.2.1", "192.0.2.2")
"""Addresses of no host (RFC 5737)."""


def write_study(runs: pd.DataFrame, directory: Path) -> None:
    """Write the study of imported runs beside them, unless another one is there."""
    if (study := implied_study(runs, directory)) is not None:
        freeze(study, directory)


def implied_study(runs: pd.DataFrame, directory: Path) -> Study | None:
    """The study that imported runs imply; None where results have a study of their own."""
    file = directory / "study.yml"
    if runs["campaign"].notna().any() or (
        file.is_file() and load_stored(file).description != DESCRIPTION
    ):
        return None
    return study_of(runs)


def study_of(runs: pd.DataFrame) -> Study:
    """A study whose cells are those of the runs."""
    name = str(runs["study"].iloc[0])
    paths = runs[["path", "sender", "receiver"]].drop_duplicates("path").to_dict("records")
    hosts = sorted({host for path in paths for host in (path["sender"], path["receiver"])})
    laws = {*LINUX, UNKNOWN}
    return validated(
        Study,
        {
            "netlab": 1,
            "name": name,
            "title": f"Imported: {name}",
            "description": DESCRIPTION,
            "hosts": {host: {"kind": "ssh", "address": host} for host in hosts},
            "paths": {
                path["path"]: {
                    "ends": [
                        {"host": path[role], "address": address, "interface": UNKNOWN}
                        for role, address in zip(("sender", "receiver"), PLACES, strict=True)
                    ]
                }
                for path in paths
            },
            "groups": [_group(part) for _, part in runs.groupby("group", sort=False)],
            "tunings": [
                {"name": tuning}
                if tuning == AS_FOUND
                else {"name": tuning, "knobs": [], "mtus_B": sorted(map(int, set(part["mtu_B"])))}
                for tuning, part in runs.groupby("tuning")
            ],
            "stacks": {
                name: {"law": KERNEL}
                for name in sorted(set(runs["congestion"]) - laws)
                if _CONGESTION.fullmatch(name)
            },
            "streams": sorted(map(int, set(runs["streams"]))),
            "timing": {
                "rounds": int(min(MAX_ROUNDS, runs.groupby(_CELL).size().min())),
                "seconds": min(3600.0, max(0.05, round(float(runs["window_s"].median()), 3))),
                "warmup_s": min(600.0, float(runs["warmup_s"].median())),
            },
        },
        f"the study of the runs of {name}",
    )


_CONGESTION = re.compile(r"[a-z0-9_-]{1,31}")
_CELL = ["group", "tuning", "mtu_B", "streams", "factors"]


def _group(runs: pd.DataFrame) -> dict:
    """A group of the study, without the combinations of its levels that no run has."""
    first = runs.iloc[0]
    levels = [parse_json(text or "{}", "factors") for text in runs["factors"]]
    of: dict[str, list] = {
        "tuning": [str(name) for name in runs["tuning"]],
        "mtu_B": [int(mtu_B) for mtu_B in runs["mtu_B"]],
        "streams": [int(streams) for streams in runs["streams"]],
        **{name: [one[name] for one in levels] for name in levels[0]},
    }
    if set(of["tuning"]) == {AS_FOUND}:
        del of["mtu_B"]
    has = set(zip(*of.values(), strict=True))
    each = {name: tuple(sorted(set(values))) for name, values in of.items()}
    missing = [dict(one) for one in crossed(each) if tuple(dict(one).values()) not in has]
    named = str(first["congestion"])
    own = named != UNKNOWN and _CONGESTION.fullmatch(named)
    return {
        "name": str(first["group"]),
        **{name: str(first[name]) for name in ("path", "sender", "direction")},
        "record_length_B": min(int(first["record_length_B"]) or 65536, 2**26),
        "buffer_B": min(int(first["buffer_B"]), 2**30),
        "tunings": each["tuning"],
        "streams": each["streams"],
        "factors": {name: each[name] for name in levels[0]},
        "exclude": [one for one in missing if one["tuning"] != AS_FOUND],
        **({"mtus_B": each["mtu_B"]} if "mtu_B" in of else {}),
        **({"congestion": named} if own else {}),
    }
