"""JSON Schema and reference of a study file, from its model and :mod:`netlab.study.keys`."""

from __future__ import annotations

import json
import re
from typing import Any

from netlab.study.design import Study
from netlab.study.keys import HEADINGS, KEYS
from netlab.study.published import Described

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DURATION = r"^\s*\d+(\.\d+)?\s*(s|min|h)\s*$"
CPUS = ("cpus_sender", "cpus_receiver")
_PLAIN = re.compile(r"[A-Za-z<~][^\n:#{}\[\],&*?|'\"%@`]*|-> ?[a-z ]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file, as an editor takes it.

    Rules that join several keys, such as that a group's sender is an end of its path, are beyond
    it: ``netlab check`` tests those.
    """
    schema = Study.model_json_schema(by_alias=True, mode="validation")
    _refuse_other_names(schema)
    parts = schema["$defs"]
    parts["Described"] = Described.model_json_schema()
    parts["WadStack"] = _wad_stack()
    _as_written(schema)
    for name, part in (("Study", schema), *parts.items()):
        for key, (text, example) in KEYS.get(
            "Published" if name == "Described" else name, {}
        ).items():
            if key in part.get("properties", {}):
                place = part["properties"][key]
                place.pop("title", None)
                place |= {"description": text.replace("`", ""), "examples": [example]}
        part.pop("title", None)
        if name in HEADINGS:
            part["description"] = HEADINGS[name].replace("`", "")
    return {"$schema": DIALECT, "title": "A study of netlab", **schema}


def _refuse_other_names(place: object) -> None:
    """Allow only names of the pattern as keys of a mapping by name."""
    if isinstance(place, dict):
        if "patternProperties" in place:
            place["additionalProperties"] = False
        place = list(place.values())
    if isinstance(place, list):
        for part in place:
            _refuse_other_names(part)


def _wad_stack() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"wad_conf": {"type": "string"}, "entry": {"type": "string"}},
        "required": ["wad_conf"],
        "additionalProperties": False,
    }


def _as_written(schema: dict[str, Any]) -> None:
    """Allow what is converted before the model sees it."""
    parts = schema["$defs"]
    whole = schema["properties"]
    whole["published"] = {
        "anyOf": [
            {"type": "string", "pattern": "^[^/]+$"},
            _ref("Described"),
            _ref("Published"),
            {"type": "null"},
        ],
        "default": None,
    }
    (name,) = whole["stacks"]["patternProperties"]
    either = {"anyOf": [_ref("Stack"), _ref("WadStack")]}
    whole["stacks"]["patternProperties"] = {name: either}
    budget = parts["Precision"]["properties"]["budget"]
    budget["anyOf"].append({"type": "string", "pattern": DURATION})
    wait = parts["Noise"]["properties"]["wait"]
    parts["Noise"]["properties"]["wait"] = {
        "anyOf": [wait, {"type": "string", "pattern": DURATION}],
        "default": wait.pop("default"),
    }
    knob = parts["Knob"]
    knob["required"].remove("source")
    knob["properties"]["value"] = {"type": ["string", "integer"]}
    parts["Choice"]["properties"]["published"] = {"type": ["string", "integer"]}
    for key in CPUS:
        parts["Socket"]["properties"][key]["anyOf"].append({"type": "integer", "minimum": 0})
        levels = parts["Factors"]["properties"][key]["anyOf"][0]
        levels["items"] = {"anyOf": [levels["items"], {"type": "integer", "minimum": 0}]}
    for key, word in (("batch_B", "none"), ("yield_B", "never")):
        amount = {"anyOf": [{"enum": ["auto", word]}, {"type": "integer", "minimum": 1}]}
        place = parts["Policy"]["properties"][key]
        place.pop("type", None)
        place |= amount
        parts["Factors"]["properties"][key]["anyOf"][0]["items"] = amount


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def as_markdown() -> str:
    """The reference: a table of the keys of each part, with defaults and examples."""
    schema = json_schema()
    parts = []
    for name, keys in KEYS.items():
        part = schema if name == "Study" else schema["$defs"][name]
        described = schema["$defs"]["Described"] if name == "Published" else {"properties": {}}
        properties = {**part["properties"], **described["properties"]}
        required = set(part.get("required", ())) if name != "Published" else {"title", "source"}
        rows = ["| key | | default | example |", "|---|---|---|---|"]
        for key, (text, example) in keys.items():
            default = "required" if key in required else _default(properties[key])
            row = (
                f"`{key}`",
                text + _choices(properties[key]),
                default,
                f"`{yaml_flow({key: example})[1:-1]}`",
            )
            rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
        parts.append(f"## {HEADINGS[name]}\n\n" + "\n".join(rows) + "\n")
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
