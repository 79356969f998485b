"""Safe reading of YAML 1.2 files into models; an error names the file, line, key and value."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from netlab.errors import BadInput, Mistakes, shown
from netlab.files.model_mistakes import Place, mistakes_of
from netlab.files.reading import open_regular

ModelT = TypeVar("ModelT", bound=BaseModel)
T = TypeVar("T")
Key = str | int | float | bool
MAX_BYTES = 1 << 20
MAX_NODES = 200_000
"""Maximum number of values with all aliases expanded; a few lines of aliases can hold billions."""
MAX_LISTED = 20
"""Mistakes of one file that a message lists."""

_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*(?: (?:->|[\w./-]+))*|\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_TAG = "tag:yaml.org,2002:"


class Document(dict):
    """The mapping of a YAML file, with the line of each value."""

    def __init__(self, content: dict, root: MappingNode):
        super().__init__(content)
        self._root = root

    def line(self, place: tuple[Key, ...]) -> int:
        """Return the line, from 1, of the deepest part of a place that the file has."""
        node: Node = self._root
        line = node.start_mark.line
        for part in place:
            child = _child(node, part)
            if child is None:
                break
            line, node = child
        return line + 1


def _child(node: Node, part: Key) -> tuple[int, Node] | None:
    if isinstance(node, SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        return node.value[part].start_mark.line, node.value[part]
    if isinstance(node, MappingNode):
        # backwards: keys of a merge come first, and the mapping's own replace them
        for key_node, value_node in reversed(node.value):
            if key_node.value == str(part):
                return key_node.start_mark.line, value_node
    return None


class _Constructor(SafeConstructor):
    """Build plain values of the YAML 1.2 core schema and collect every mistake on the way."""

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.where = ""
        self.mistakes: list[BadInput] = []

    def note(self, node: Node, message: str, code: str) -> None:
        at = f"{self.where}:{node.start_mark.line + 1}"
        self.mistakes.append(BadInput(message, where=at, code=code))

    def construct_non_recursive_object(self, node: Any, tag: str | None = None) -> Any:
        """Build one value; a value that does not fit its tag becomes None and a mistake."""
        name = str(node.tag).removeprefix(_TAG)
        if str(node.tag) not in self.yaml_constructors:
            allowed = "null, bool, int, float, str, seq and map"
            message = f"tag {shown(name)} is not supported; allowed: {allowed}"
            self.note(node, message, code="E-YAML-011")
            return None
        if name == "int" and re.match(r"[-+]?0\d", str(node.value)):
            message = f"{shown(node.value)}: a leading zero is octal to some readers; leave it out"
            self.note(node, message, code="E-YAML-024")
            return None
        try:
            return super().construct_non_recursive_object(node, tag)
        except (YAMLError, ValueError, LookupError, AttributeError, TypeError, ArithmeticError):
            # ruamel.yaml converts the text of a scalar without a check that it can
            text = shown(node.value) if isinstance(node, ScalarNode) else f"a {node.id}"
            self.note(node, f"{text} is not a value of type {name}", code="E-YAML-012")
            return None

    def flatten_mapping(self, node: Any) -> Any:
        """Check the keys of a mapping before merges are written out in it."""
        if getattr(node, "merge", None) is None:
            seen: set[object] = set()
            for key_node, _ in node.value:
                if key_node.tag == f"{_TAG}merge":
                    continue  # the mapping may give what this brings in another value
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, Key):
                    message = "a key is text, a number or a truth value"
                    self.note(key_node, message, code="E-YAML-013")
                elif key in seen:
                    self.note(key_node, f"the key {shown(key)} is given twice", code="E-YAML-014")
                else:
                    seen.add(key)
        super().flatten_mapping(node)

    def check_mapping_key(self, *_: Any) -> bool:
        """Accept a key: :meth:`flatten_mapping` has checked all of them."""
        return True


_Constructor.yaml_constructors = {
    f"{_TAG}{name}": SafeConstructor.yaml_constructors[f"{_TAG}{base}"]
    for name, base in (
        *((name, name) for name in ("null", "bool", "int", "float", "str", "seq", "map")),
        # texts in YAML 1.2, which ruamel.yaml marks as YAML 1.1 does
        *((name, "str") for name in ("timestamp", "value", "merge")),
    )
}


def _expanded(node: Node, sizes: dict[int, float], where: str) -> float:
    """Count the values below a node with every alias expanded."""
    if isinstance(node, ScalarNode):
        return 1
    size = sizes.get(id(node))
    at = f"{where}:{node.start_mark.line + 1}"
    if size is None:
        sizes[id(node)] = math.nan
        children = node.value
        if isinstance(node, MappingNode):
            children = [part for pair in node.value for part in pair]
        size = 1 + sum(_expanded(child, sizes, where) for child in children)
        sizes[id(node)] = size
    if math.isnan(size):
        raise BadInput("an alias stands inside the value it names", where=at, code="E-YAML-009")
    if size > MAX_NODES:
        message = f"the aliases stand for more than {MAX_NODES} values"
        raise BadInput(message, where=at, code="E-YAML-010")
    return size


def read_yaml(path: Path | str) -> Document:
    where = str(path)
    text = _text(path)
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    try:
        root = yaml.compose(text)
        if yaml.resolver.processing_version != (1, 2):
            message = "only YAML 1.2 is supported; remove the line %YAML"
            raise BadInput(message, where=where, code="E-YAML-015")
        if not isinstance(root, MappingNode):
            message = "not a mapping of keys to values"
            raise BadInput(message, where=where, code="E-YAML-008")
        _expanded(root, {}, where)
        constructor: _Constructor = yaml.constructor
        constructor.where = where
        content = constructor.construct_document(root)
    except RecursionError:
        raise BadInput("nested too deeply", where=where, code="E-YAML-005") from None
    except ReaderError as error:
        problem = f"the character #x{error.character:04x} is not allowed"
        at = f"{where}:{text.count(chr(10), 0, error.position) + 1}"
        raise BadInput(f"not YAML: {problem}", where=at, code="E-YAML-006") from None
    except (YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f"{where}:{mark.line + 1}" if mark else where
        texts = (getattr(error, "context", None), getattr(error, "problem", None))
        problem = " ".join(", ".join(filter(None, texts)).split()) or type(error).__name__
        raise BadInput(f"not YAML: {problem}", where=at, code="E-YAML-007") from None
    if constructor.mistakes:
        raise _all(constructor.mistakes, where)
    return Document(content, root)


def _text(path: Path | str) -> str:
    where = str(path)
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise BadInput(message, where=where, code="E-YAML-001") from None
    except ValueError:
        raise BadInput("not a file name", where=repr(where), code="E-YAML-002") from None
    if len(raw) > MAX_BYTES:
        raise BadInput("larger than 1 MiB, the limit", where=where, code="E-YAML-003")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("not UTF-8 text", where=where, code="E-YAML-004") from None


def _all(mistakes: list[BadInput], where: str) -> BadInput:
    if len(mistakes) == 1:
        return mistakes[0]
    return Mistakes(mistakes[:MAX_LISTED], where=where, count=len(mistakes), code="E-YAML-023")


def refuse_places(
    content: dict, where: str, mistakes: Iterable[tuple[Place, str, str]], *, code: str
) -> None:
    """Raise the mistakes of a content that is valid otherwise: place, value and message each."""
    found = []
    for place, value, message in mistakes:
        line = f":{content.line(place)}" if isinstance(content, Document) else ""
        at, key = f"{where}{line}", ".".join(map(str, place))
        found.append(BadInput(message, where=at, key=key, value=value, code=code))
    if found:
        raise _all(found, where)


def validated(model: type[ModelT], content: dict, where: str) -> ModelT:
    try:
        return model.model_validate(content)
    except ValidationError as failure:
        line = content.line if isinstance(content, Document) else None
        raise _all(mistakes_of(failure, model, content, where, line), where) from None


def from_content(kind: type[T], content: object) -> T:
    """Build a dataclass and those inside it from JSON values; a ValueError if they do not fit."""
    return TypeAdapter(kind).validate_python(content)


def to_content(value: object) -> dict:
    """JSON values of a dataclass, as :func:`from_content` takes them."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def yaml_text(content: dict) -> str:
    """Format plain values as YAML 1.2, in the order they have."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 100
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    stream = io.StringIO()
    yaml.dump(content, stream)
    return stream.getvalue()


def yaml_line(content: Mapping[str, str | float]) -> str:
    """Format texts and numbers as one line of YAML 1.2, in the order they have."""
    pairs = (f"{key}: {_word(value)}" for key, value in content.items())
    return f"{{{', '.join(pairs)}}}"


def _word(value: str | float) -> str:
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
