"""Wings: optional parts of netlab, found by the entry points of the group ``netlab.wings``.

The parts that come with netlab are registered like those of other packages. What a wing offers is
named as ``module:name`` and loaded when it is used, so that listing wings loads none of their code.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from netlab.errors import NetlabError, why

GROUP = "netlab.wings"


@dataclass(frozen=True)
class Command:
    """A command of ``netlab``: where it is, and its line in ``netlab --help``."""

    target: str
    summary: str


@dataclass(frozen=True)
class Wing:
    """What an optional part offers to the others, each as ``module:name``."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    """Commands of the shell by their names."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Attributes of ``import netlab``, for notebooks."""
    pages: tuple[str, ...] = ()
    """Functions that take a measured study and return its pages of the report."""
    page_prefixes: tuple[str, ...] = ()
    """Beginnings of the names of those pages' files, which no notebook's page takes."""
    notebooks: tuple[str, ...] = ()
    """Functions that take a measured study and return names of notebooks of its report."""
    reports: Mapping[str, str] = field(default_factory=dict)
    """Studies whose report is made in a way of their own, by name: objects ``OwnReport``."""
    openings: tuple[str, ...] = ()
    """Functions that take a measured study and return what opens its report: an ``Opening``, or
    None."""
    published: tuple[str, ...] = ()
    """Functions that take a measured study and return the published values of its cells."""
    results: Mapping[str, str] = field(default_factory=dict)
    """Attributes of ``netlab.Results``: functions of a measured study."""
    methods: Mapping[str, str] = field(default_factory=dict)
    """Methods of ``netlab.Study``: functions whose first argument is the study."""
    path_finders: tuple[str, ...] = ()
    """Functions that find the path between two hosts, for ``netlab.Study.between``."""
    generators: Mapping[str, str] = field(default_factory=dict)
    """Programs that send and receive, by the names that a study gives them: objects ``Tool``."""
    formats: tuple[str, ...] = ()
    """Formats of other tools' files, which ``netlab import`` reads."""
    stores: tuple[str, ...] = ()
    """Directories below a study's results with stores of their own, as patterns, for a bundle."""
    files: tuple[str, ...] = ()
    """Further files below a study's results that belong into its bundle, as patterns."""


def load(target: str) -> Any:
    """Load the object that ``module:name`` names."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


@cache
def wings() -> dict[str, Wing]:
    """The installed wings by name, in alphabetical order."""
    # 35 ms of CPU time, for those who ask only
    from importlib.metadata import entry_points

    found: dict[str, Wing] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        package = point.dist.name if point.dist else point.value
        remedy = f"install {package} again, or remove it"
        try:
            wing = point.load()
        except (ImportError, AttributeError) as error:
            text = f"cannot load the wing {point.name} of {package}: {why(error)}; {remedy}"
            raise NetlabError(text, code="E-WING-001") from error
        if not isinstance(wing, Wing):
            text = f"the wing {point.name} of {package} is not a netlab.wings.Wing; {remedy}"
            raise NetlabError(text, code="E-WING-002")
        if point.name in found:
            text = f"two packages have a wing {point.name}, one of them {package}; remove one"
            raise NetlabError(text, code="E-WING-003")
        found[point.name] = wing
    return found


def _merged(kind: str, core: Collection[str] = ()) -> dict[str, Any]:
    """One mapping of all wings; no two offer the same name, and none one of the core."""
    found: dict[str, Any] = {}
    for name, wing in wings().items():
        offered = getattr(wing, kind)
        if taken := sorted(offered.keys() & found.keys()):
            text = f"the wing {name} and another one offer {taken[0]}; remove one of them"
            raise NetlabError(text, code="E-WING-004")
        found |= offered
    if taken := sorted(found.keys() & set(core)):
        text = f"a wing offers the {kind[:-1]} {taken[0]}, which netlab has; remove that wing"
        raise NetlabError(text, code="E-WING-005")
    return found


def of_others() -> bool:
    """True if a wing comes with another package."""
    # as in wings()
    from importlib.metadata import entry_points

    return any(point.value.split(".")[0] != "netlab" for point in entry_points(group=GROUP))


def commands(core: Collection[str] = ()) -> dict[str, Command]:
    """Commands of all wings; none has the name of a command of the core."""
    return _merged("commands", core)


def names() -> dict[str, str]:
    return _merged("names")


def reports() -> dict[str, str]:
    return _merged("reports")


def results(core: Collection[str] = ()) -> dict[str, str]:
    """Attributes of all wings for results; none has the name of one of the core."""
    return _merged("results", core)


def methods(core: Collection[str] = ()) -> dict[str, str]:
    """Methods of all wings for studies; none has the name of one of the core."""
    return _merged("methods", core)


def _all(kind: str) -> tuple[str, ...]:
    return tuple(each for wing in wings().values() for each in getattr(wing, kind))


def generators(core: Collection[str] = ()) -> dict[str, str]:
    """Generators of all wings; none has the name of one of the core."""
    return _merged("generators", core)


def pages() -> list[Any]:
    return list(map(load, _all("pages")))


def page_prefixes() -> tuple[str, ...]:
    return _all("page_prefixes")


def notebooks() -> list[Any]:
    return list(map(load, _all("notebooks")))


def openings() -> list[Any]:
    return list(map(load, _all("openings")))


def published() -> list[Any]:
    return list(map(load, _all("published")))


def path_finders() -> list[Any]:
    return list(map(load, _all("path_finders")))


def formats() -> list[Any]:
    return list(map(load, _all("formats")))


def stores() -> tuple[str, ...]:
    return _all("stores")


def files() -> tuple[str, ...]:
    return _all("files")
