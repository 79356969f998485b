"""YAML files read safely into models; every mistake names the file, the key and the value."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from netlab.errors import BadInput, shown

ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_BYTES = 1 << 20


MAX_NODES = 200_000
"""Values a file may hold with its aliases written out; a few lines of aliases can hold billions."""

_TAG = "tag:yaml.org,2002:"
_READ = {
    f"{_TAG}{name}"
    for name in ("str", "int", "float", "bool", "null", "map", "seq", "merge", "timestamp", "value")
}


class _Loader(yaml.SafeLoader):
    """Safe YAML of plain values, in which a key given twice is an error, not an overwrite."""

    def construct_document(self, node: yaml.Node) -> object:
        _expanded(node, {})
        return super().construct_document(node)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        name = node.tag.removeprefix(_TAG)
        if node.tag not in _READ:
            raise _refusal(f"the tag {shown(name)} is not read here", node)
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError):
            # PyYAML converts what a tag or pattern announces without checking that it can
            raise _refusal(f"{shown(node.value)} is no {name}", node) from None


def _refusal(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _expanded(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Count the values below a node with every alias written out."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    known = sizes.get(id(node))
    if known == 0:
        raise _refusal("an alias stands inside what it names", node)
    if known is None:
        sizes[id(node)] = 0
        children = node.value
        if isinstance(node, yaml.MappingNode):
            children = [part for pair in node.value for part in pair]
        known = 1 + sum(_expanded(child, sizes) for child in children)
        if known > MAX_NODES:
            raise _refusal(f"the aliases stand for over {MAX_NODES} values", node)
        sizes[id(node)] = known
    return known


def _mapping(loader: _Loader, node: yaml.Node) -> dict:
    if not isinstance(node, yaml.MappingNode):
        raise _refusal("a mapping was announced and something else found", node)
    keys: set[object] = set()
    for key_node, _ in node.value:
        if key_node.tag == f"{_TAG}merge":
            continue  # what it brings in may be given anew
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool):
            raise _refusal("a key is a plain word", key_node)
        if key in keys:
            raise _refusal(f"the key {shown(key)} is given twice", key_node)
        keys.add(key)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(f"{_TAG}map", _mapping)


def read_yaml(path: Path | str) -> dict:
    """Read a YAML mapping safely.

    Raises
    ------
    BadInput
        The file cannot be read, is over 1 MiB, is not YAML, repeats a key or is no mapping.
    """
    where = str(path)
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=where) from None
    except ValueError:
        raise BadInput("is no file name", where=repr(where)) from None
    if len(raw) > MAX_BYTES:
        raise BadInput("is over 1 MiB, too large to be meant", where=where)
    try:
        content = yaml.load(raw.decode("utf-8"), Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where) from None
    except RecursionError:
        raise BadInput("is nested too deeply to be meant", where=where) from None
    except yaml.reader.ReaderError as error:
        problem = f"the character #x{error.character:04x} is not allowed"
        raise BadInput(f"is not YAML that netlab reads: {problem}", where=where) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        said = (getattr(error, "context", None), getattr(error, "problem", None))
        problem = ", ".join(filter(None, said)) or type(error).__name__
        raise BadInput(f"is not YAML that netlab reads{line}: {problem}", where=where) from None
    if not isinstance(content, dict):
        raise BadInput("holds no mapping of keys to values", where=where)
    return content


def validated(model: type[ModelT], content: dict, where: str) -> ModelT:
    """Build a model from parsed content.

    Raises
    ------
    BadInput
        The first mistake found, with `where`, the dotted key and the value.
    """
    try:
        return model.model_validate(content)
    except ValidationError as failure:
        problem = failure.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        value = problem.get("input")
        kind = problem["type"]
        if kind == "extra_forbidden":
            message = "is no key that belongs here"
        elif kind not in ("missing", "value_error") and (
            value is None or isinstance(value, list | dict)
        ):
            noun = {list: "a list", dict: "a mapping"}.get(type(value), "nothing")
            message += f" (found {noun})"
        if kind == "missing" or isinstance(value, list | tuple | dict):
            value = None
        raise BadInput(message, where=where, key=key, value=value) from None
