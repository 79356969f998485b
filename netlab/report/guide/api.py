"""API reference as Markdown, read from the docstrings of the source without importing it."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import griffe

PACKAGE = "netlab"
FACE = "face"
LEFT_OUT = ("cli",)
"""Rooms without an API: the command has a page of its own."""

GROUND = "ground"
"""Name of the page of the modules right below the package."""

FIRST = (
    *(FACE, "study", "results", "stored", "shown_results", "comparison", "published"),
    *("fleet", "loopback", "parameters"),
)
"""Modules of the face whose names :mod:`netlab` has itself, in the order of their use; the frames
and the views of results stand below the results."""

Links = dict[str, tuple[str, str]]
"""Path of an object -> its address and its name."""

_ROLE = re.compile(r":(?:\w+:)?\w+:`~?([^`]+)`")
_LITERAL = re.compile(r"``([^`]+)``")
_BLOCK = re.compile(r"::$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """A page of the reference.

    Attributes
    ----------
    file : str
        Its address.
    name : str
        Name of the package or modules that it describes.
    text : str
        Its content in Markdown.
    """

    file: str
    name: str
    text: str

    @property
    def short(self) -> str:
        """Its name in the navigation."""
        return "API reference" if self.name == PACKAGE else self.name.replace(f"{PACKAGE}.", "")


def page_name(room: str) -> str:
    """Address of the page of a room of the package; the face is the first page."""
    return "api.html" if room == FACE else f"api-{room}.html"


def rooms() -> list[str]:
    """Rooms of the package that have a page: the face, then the others by name."""
    package = Path(__file__).parents[2]
    found = {file.parent.name for file in package.glob("[a-z]*/__init__.py")}
    return [FACE, GROUND, *sorted(found - {FACE, *LEFT_OUT})]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no garbage inside the block.

    Before CPython 3.11.8 threads share the depth of the syntax trees they make; if a collection
    lets another thread run in the middle of a tree, both fail (gh-106905).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def chapters() -> list[Chapter]:
    """The reference, a page for each room of the package."""
    with _no_collection():
        package = griffe.load(
            PACKAGE,
            search_paths=[str(Path(__file__).parents[3])],
            docstring_parser="numpy",
            docstring_options={"warnings": False},
            allow_inspection=False,
        )
    in_room: dict[str, list[griffe.Module]] = {room: [] for room in rooms()}
    for module in _modules(package):
        parts = module.path.split(".")
        own = len(parts) == 2 and parts[1] not in in_room
        room = GROUND if own else parts[1] if len(parts) > 1 else ""
        if room in in_room:
            in_room[room].append(module)
    links = {
        member.path: (f"{page_name(room)}#{member.path}", _shown(member))
        for room, modules in in_room.items()
        for module in modules
        for member in (module, *_members(module))
        if not member.is_module or _members(member)  # a module without members has no heading
    }
    in_room[FACE].sort(key=_face_first)
    return [_chapter(room, modules, links) for room, modules in in_room.items()]


def _face_first(module: Any) -> int:
    """Order of the face's modules: those of the package's own names first."""
    name = module.name
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _shown(member: Any) -> str:
    """Name of an object where its module is known: a method's with its class."""
    if member.is_module:
        return member.path
    return f"{member.parent.name}.{member.name}" if member.parent.is_class else member.name


def _modules(module: Any) -> Iterator[Any]:
    """A package's modules in the order of their names, itself first; private ones left out."""
    yield module
    for name, member in sorted(module.members.items()):
        if not member.is_alias and member.is_module and not name.startswith("_"):
            yield from _modules(member)


def _members(module: Any) -> list[Any]:
    """Public classes and functions with a docstring, and methods of such classes, in order."""
    found = []
    for name, member in module.members.items():
        if name.startswith("_") or member.is_alias or not member.has_docstring:
            continue
        if member.is_class:
            found += [member, *_members(member)]
        elif member.is_function or "property" in member.labels:
            found.append(member)
    return found


def _chapter(room: str, modules: list[Any], links: Links) -> Chapter:
    name = {FACE: PACKAGE, GROUND: f"{PACKAGE}.errors, {PACKAGE}.units"}.get(
        room, f"{PACKAGE}.{room}"
    )
    title = "API reference" if room == FACE else f"`{name}`"
    parts = [f"# {title}\n"]
    if room == FACE:
        parts.append(OPENING)
    for module in modules:
        members = _members(module)
        if module.path == f"{PACKAGE}.{room}":  # its docstring is the page's first paragraph
            parts.append(_text(module, module, links))
        if not members:
            continue
        parts.append(f"## `{module.path}` {{#{module.path}}}\n")
        if module.path != f"{PACKAGE}.{room}":
            parts.append(_text(module, module, links))
        parts += [_described(member, module, links) for member in members]
    return Chapter(page_name(room), name, "\n".join(parts))


OPENING = """
`import netlab` gives `Study`, `Results`, `Fleet`, `compare`, `load_published`, `document`,
`claims`, `transfer`, `show` and `check_parameters`, described here.
The pages that follow describe the package's rooms, for notebooks and programs that go further.
A name that begins with an underscore is not part of the interface.
"""


def _text(documented: Any, module: Any, links: Links) -> str:
    """The paragraphs of a docstring that are not a section of parameters or the like."""
    if not documented.has_docstring:
        return ""
    sections = documented.docstring.parsed
    texts = [section.value for section in sections if section.kind.value == "text"]
    return "\n\n".join(_prose(text, module, links) for text in texts) + "\n"


def _described(member: Any, module: Any, links: Links) -> str:
    """A class, function, method or property: its heading, call, text and sections."""
    is_method = member.parent.is_class
    level = "####" if is_method else "###"
    shown = _shown(member)
    kind = "class " if member.is_class else ""
    parts = [f"{level} {kind}`{shown}` {{#{member.path}}}\n"]
    if member.is_function or (member.is_class and len(member.parameters) > 1):
        parts.append(f"```python\n{_call(member, shown)}\n```\n")
    parts.append(_text(member, module, links))
    for section in member.docstring.parsed:
        if section.kind.value == "text":
            continue
        if write := _SECTIONS.get(section.kind.value):
            parts.append(f"**{section.title or _title(section.kind.value)}**\n")
            parts.append(write(section.value, lambda text: _prose(text, module, links)))
    return "\n".join(parts) + "\n"


def _title(kind: str) -> str:
    return kind.capitalize()


def _call(member: Any, shown: str) -> str:
    """Signature of a function; a long one is broken into lines."""
    given, star = [], False
    for parameter in member.parameters:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind.value
        if kind == "keyword-only" and not star:
            given.append("*")
        star = star or kind in ("keyword-only", "variadic positional")
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        text = stars + parameter.name
        if parameter.annotation is not None:
            text += f": {parameter.annotation}"
        if parameter.default is not None and not stars:
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        given.append(text)
    returns = getattr(member, "returns", None) if member.is_function else None
    arrow = f" -> {returns}" if returns is not None else ""
    line = f"{shown}({', '.join(given)}){arrow}"
    if len(line) <= 88:
        return line
    rows = "".join(f"    {text},\n" for text in given)
    return f"{shown}(\n{rows}){arrow}"


def _prose(text: str, module: Any, links: Links) -> str:
    """Text of a docstring as Markdown: literals as code, roles as links."""

    def follow(role: re.Match) -> str:
        name = role[1].strip()
        target = next((p for p in (name, f"{module.path}.{name}") if p in links), "")
        address, shown = links.get(target, ("", name))
        return f"[`{shown}`]({address})" if address else f"`{shown}`"

    text = _ROLE.sub(follow, text)
    return _BLOCK.sub(":", _LITERAL.sub(r"`\1`", text))


def _items(values: Iterable[Any], prose: Callable[[str], str]) -> str:
    lines = []
    for value in values:
        name = getattr(value, "name", "") or ""
        # several words are a tuple to the parser
        kind = str(value.annotation or "").removeprefix("(").removesuffix(")")
        kind = f"`{kind}`" if kind else ""
        head = ", ".join(part for part in (f"`{name}`" if name else "", kind) if part)
        described = " ".join(prose(value.description or "").split())
        lines.append(f"- {head}: {described}" if described else f"- {head}")
    return "\n".join(lines) + "\n"


def _examples(values: Iterable[tuple[Any, str]], prose: Callable[[str], str]) -> str:
    parts = [
        f"```python\n{text}\n```" if kind.value == "examples" else prose(text)
        for kind, text in values
    ]
    return "\n\n".join(parts) + "\n"


def _admonition(value: Any, prose: Callable[[str], str]) -> str:
    return prose(str(value.description if hasattr(value, "description") else value)) + "\n"


_SECTIONS: dict[str, Callable[[Any, Callable[[str], str]], str]] = {
    "parameters": _items,
    "attributes": _items,
    "returns": _items,
    "yields": _items,
    "raises": _items,
    "warns": _items,
    "examples": _examples,
    "admonition": _admonition,
}
