"""Safe reading of YAML 1.2 files into models; an error names the file, line, key and value."""

from __future__ import annotations

import difflib
import io
import json
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from netlab.errors import CODE, BadInput, Mistakes, shown
from netlab.files.reading import open_regular

# Validation errors of pydantic as netlab's errors: line, key, value and what is allowed.

Place = tuple[str | int, ...]
_NOUNS: dict[Any, str] = {(list, tuple): "a list", dict: "a mapping", type(None): "nothing"}


_OF_A_KEY = "[key]"
"""Last part of a location where the key of a mapping is wrong, not its value."""


def mistakes_of(
    failure: ValidationError,
    model: type[BaseModel],
    content: dict,
    where: str,
    line: Callable[[Place], int] | None = None,
) -> list[BadInput]:
    problems: dict[tuple[Place, str], Any] = {}
    for problem in failure.errors(include_url=False):
        for one in _each(problem):
            place = _place(one["loc"], content, missing=one["type"] == "missing")
            # branches of a union refuse the same value each, and one of them is enough
            reason = one["msg"] if one is not problem else ""
            problems.setdefault((place, reason), one)
    places = {place for place, reason in problems if not reason}
    mistakes = []
    for (place, reason), error in problems.items():
        if not reason and any(
            len(other) > len(place) and other[: len(place)] == place for other in places
        ):
            continue  # a mistake below it is the reason
        named = _named(error["msg"].removeprefix("Value error, "), content, place)
        number = line(named) if line is not None else 0
        at = f"{where}:{number}" if line is not None else where
        key = ".".join(str(part) for part in place if part != _OF_A_KEY)
        if parameter := _parameter(named, content):
            at, key = "parameters", parameter
            if named != place:  # the message begins with the other keys
                error = {**error, "msg": error["msg"].rpartition(": ")[-1]}
        mistakes.append((number, _mistake(error, model, at, place, key)))
    return [mistake for _, mistake in sorted(mistakes, key=lambda pair: pair[0])]


def _each(problem: Any) -> Iterator[Any]:
    """The errors that one of a model stands for: itself, or the ``mistakes`` that it has.

    Each is at the place and with the value that it names itself, below those of the model.
    """
    several = getattr(problem.get("ctx", {}).get("error"), "mistakes", ())
    for one in several or (None,):
        if one is not None:
            kind, named = getattr(one, "type", "value_error"), getattr(one, "context", None)
            problem = {**problem, "type": kind, "msg": str(one), "ctx": named or {}}
        named = problem.get("ctx", {})
        if "place" in named:
            place = (*problem["loc"], *named["place"])
            yield {**problem, "loc": place, "input": named["value"]}
        else:
            yield problem


def _named(message: str, content: Any, above: Place) -> Place:
    """A place, with the keys that a message of its model begins with: ``paths.cable: ...``.

    An item of a list is found by its name: ``groups: left -> right: ...``.
    """
    place = [*above]
    with suppress(LookupError, TypeError):  # a missing key
        for part in above:
            content = content[part]
    first, *others = message.split(": ")
    for word in (*first.split("."), *others):
        if isinstance(content, dict) and word in content:
            place.append(word)
            content = content[word]
        elif isinstance(content, list | tuple):
            names = [item.get("name") if isinstance(item, dict) else item for item in content]
            if word not in names:
                break
            place.append(names.index(word))
            content = content[names.index(word)]
        else:
            break
    return tuple(place)


class Parameter(list):
    """A notebook's parameter; a mistake in what is made of it names the parameter."""

    def __init__(self, name: str, values: Iterable[object]):
        super().__init__(values)
        self.name = name


def _parameter(place: Place, content: Any) -> str:
    """The parameter that holds the value at a place; empty if none does."""
    with suppress(LookupError, TypeError):
        for part in place:
            content = content[part]
            if isinstance(content, Parameter):
                return content.name
    return ""


def _mistake(problem: Any, model: type[BaseModel], at: str, place: Place, key: str) -> BadInput:
    kind, value = problem["type"], problem.get("input")
    keys = _keys(model, problem["loc"][:-1])
    shape = next((noun for kinds, noun in _NOUNS.items() if isinstance(value, kinds)), None)
    if kind == "missing":
        last = problem["loc"][-1]
        field = keys.get(last)
        message = "required key is missing"
        if isinstance(last, int):  # of a pair
            message = f"item {last + 1} of the list is missing"
        if field and field.description and field.examples:
            example = json.dumps(field.examples[0], ensure_ascii=False)
            message += f". {field.description} Example: {example}"
        return BadInput(message, where=at, key=key, code="E-YAML-021")
    scalar = None if shape else value
    if kind == "extra_forbidden":
        allowed = [*map(str, keys)]
        close = difflib.get_close_matches(str(place[-1]), allowed, n=1)
        listed = f"allowed: {', '.join(allowed) or 'none'}"
        # a letter more or less: path for paths, which is a key of groups as well
        misspelt = difflib.get_close_matches(str(place[-1]), allowed, n=1, cutoff=0.85)
        if not misspelt and (owners := _owners(keys, place[-1])):
            listed = f"it is a key of {' or '.join(map(repr, owners))} here"
        elif close:
            listed = f"did you mean {close[0]!r}?"
        message = f"unknown key; {listed}"
        return BadInput(message, where=at, key=key, value=scalar, code="E-YAML-020")
    message = _in_words(kind, problem.get("ctx") or {})
    message = message or problem["msg"].removeprefix("Value error, ")
    code = kind if CODE.fullmatch(kind) else "E-YAML-022"
    field = keys.get(problem["loc"][-1]) if kind in _SHAPES else None
    if field and field.examples:
        message += f", such as {json.dumps(field.examples[0], ensure_ascii=False)}"
    if shape and kind not in ("value_error", "too_short", "too_long", code):
        message += f" (found {shape})"
    return BadInput(message, where=at, key=key, value=scalar, code=code)


_SHAPES = {
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "a mapping of keys"),
    **dict.fromkeys(("model_attributes_type", "dataclass_type"), "a mapping of keys"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "finite_number": "a finite number",
    "string_type": "text",
}
_BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "string_too_short": "text of {min_length} or more characters",
    "string_too_long": "text of {max_length} or fewer characters",
}


_PATTERNS: dict[str, str] = {}


def pattern(expression: str, words: str) -> str:
    """A regular expression of a field; a message has the words in its place."""
    _PATTERNS[expression] = words
    return expression


def _in_words(kind: str, context: dict[str, Any]) -> str:
    """The values that a field takes, in words; empty for an error with words of its own."""
    if kind == "string_pattern_mismatch" and context.get("pattern") in _PATTERNS:
        return f"expected {_PATTERNS[context['pattern']]}"
    if kind in ("too_short", "too_long"):
        most = "or more" if kind == "too_short" else "or fewer"
        number = context.get("min_length", context.get("max_length"))
        return f"expected {number} {most} items"
    text = _SHAPES.get(kind) or _BOUNDS.get(kind, "")
    return f"expected {text.format(**context)}" if text else ""


def _place(loc: Place, content: object, *, missing: bool) -> Place:
    """The keys of a location without the names of union branches, which no file has."""
    place: list[str | int] = []
    for index, part in enumerate(loc):
        try:
            content = content[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            if not (missing and index == len(loc) - 1) and part != _OF_A_KEY:
                if isinstance(content, dict | list | tuple):
                    continue
                break
        place.append(part)
    return tuple(place)


def _keys(model: type[BaseModel], loc: Place) -> dict[str | int, FieldInfo]:
    """Keys that the model has at a location, with their fields."""
    kinds: list[Any] = [model]
    for part in loc:
        below = [kind for above in _members(kinds) for kind in _below(above, part)]
        kinds = below or kinds  # the name of a union's branch leads nowhere
    fields = [pair for kind in _members(kinds) for pair in _fields(kind).items()]
    return {field.alias or name: field for name, field in fields}


def _owners(keys: Mapping[str | int, FieldInfo], key: object) -> list[str]:
    """Keys of the mappings below that have this key, as dotted paths; of the nearest level."""
    level: list[tuple[str, Any]] = [(str(name), field.annotation) for name, field in keys.items()]
    for _ in range(_OWNER_DEPTH):
        mappings = [(path, kind) for path, type_ in level for kind in _mappings(type_)]
        fields = [(path, _fields(kind)) for path, kind in mappings]
        owners = [path for path, below in fields if key in {f.alias or n for n, f in below.items()}]
        if owners:
            return list(dict.fromkeys(owners))
        level = [
            (f"{path}.{field.alias or name}", field.annotation)
            for path, below in fields
            for name, field in below.items()
        ]
    return []


_OWNER_DEPTH = 3
"""Levels in which a misplaced key is searched: paths, emulator, and what stands in it."""


def _mappings(kind: Any) -> Iterator[Any]:
    """Models that a value of this type holds, also as items of a list or values of a mapping."""
    for member in _members([kind]):
        if get_origin(member) in (dict, list, tuple):
            for item in get_args(member)[-2:]:
                yield from _mappings(item)
        else:
            yield member


def _below(kind: Any, part: str | int) -> list[Any]:
    """Types of the value that a key or an index leads to."""
    if get_origin(kind) in (dict, list, tuple):
        return [arg for arg in get_args(kind)[-2:] if arg is not Ellipsis]
    return [f.annotation for name, f in _fields(kind).items() if part in (name, f.alias)]


def _members(kinds: list[Any]) -> Iterator[Any]:
    """Types with the members of unions and what is annotated written out."""
    for kind in kinds:
        if get_origin(kind) in (Union, types.UnionType):
            yield from _members(list(get_args(kind)))
        elif hasattr(kind, "__metadata__"):
            yield from _members([kind.__origin__])
        else:
            yield kind


def _fields(kind: Any) -> dict[str, FieldInfo]:
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return kind.model_fields if is_model else {}


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
