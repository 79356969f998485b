"""JSON Schema and reference of a study file, from its models."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

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
)
from netlab.study.published import Described
from netlab.study.wad_conf import WadStack

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
