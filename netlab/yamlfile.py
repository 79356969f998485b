"""YAML files read safely into models; every mistake names the file, the key and the value."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from netlab.errors import BadInput

ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_BYTES = 1 << 20


class _UniqueKeys(yaml.SafeLoader):
    """Safe YAML in which a repeated key is an error, not a silent overwrite."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict:
    loader.flatten_mapping(node)
    keys: set[object] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool):
            raise yaml.constructor.ConstructorError(
                None, None, "a key is a plain word", key_node.start_mark
            )
        if key in keys:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} is given twice", key_node.start_mark
            )
        keys.add(key)
    return loader.construct_mapping(node, deep=True)


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(path: Path | str) -> dict:
    """Read a YAML mapping safely.

    Raises
    ------
    BadInput
        The file cannot be read, is over 1 MiB, is not YAML, repeats a key or is no mapping.
    """
    where = str(path)
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=where) from None
    if len(raw) > MAX_BYTES:
        raise BadInput("is over 1 MiB, too large to be meant", where=where)
    try:
        content = yaml.load(raw.decode("utf-8"), Loader=_UniqueKeys)  # noqa: S506 (a SafeLoader)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where) from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
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
        raise BadInput(
            message,
            where=where,
            key=key,
            value=value if isinstance(value, str | int | float | bool) else None,
        ) from None
