"""Wings: optional parts of netlab, found by the entry points of the group ``netlab.wings``.

The parts that come with netlab are registered like those of other packages. What a wing offers is
named as ``module:name`` and loaded when it is used, so that listing wings loads none of their code.
A wing that cannot be loaded is left out with a warning that names its package.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, wraps
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from netlab.errors import NO_THREAD, NetlabError, why

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "netlab.wings"


@dataclass(frozen=True)
class Command:
    """A command of ``netlab``: where it is, and its line in ``netlab --help``."""

    target: str
    summary: str


@dataclass(frozen=True)
class Wing:
    """Offers of an optional part to the others, each as ``module:name``."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    """Commands of the shell by their names."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Attributes of ``import netlab``, for notebooks."""
    pages: tuple[str, ...] = ()
    """Functions that take a measured study and return its pages of the report."""
    page_prefixes: tuple[str, ...] = ()
    """Beginnings of the names of those pages' files, which no notebook's page takes."""
    notebooks: tuple[str, ...] = ()
    """Functions that take a measured study and return notebooks of its report: absolute paths, or
    names of those that come with netlab."""
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

    def __post_init__(self) -> None:
        """Refuse another type of value here, and not where all wings are listed."""
        for each in fields(self):
            value = getattr(self, each.name)
            kind = Command if each.name == "commands" else str
            container = tuple if each.default == () else dict
            items = value.values() if isinstance(value, Mapping) else value
            fits = isinstance(value, (tuple, list) if container is tuple else Mapping)
            if not fits or not all(isinstance(one, kind) for one in items):
                raise TypeError(f"{each.name} must be a {container.__name__} of {kind.__name__}")

    def texts(self) -> Iterator[str]:
        """All that it names, ``module:name`` of what is loaded among it."""
        for each in fields(self):
            value = getattr(self, each.name)
            for one in value.values() if isinstance(value, Mapping) else value:
                yield one.target if isinstance(one, Command) else one


class Unusable(UserWarning):
    """A wing, or something that it offers, cannot be used."""


class _NotLoaded(NetlabError):
    pass


def _leave_out(error: NetlabError) -> None:
    warnings.warn(error.with_code(), Unusable, stacklevel=3)


def load(target: str) -> Any:
    """Load the object that ``module:name`` names."""
    module, _, name = target.partition(":")
    try:
        return getattr(import_module(module), name)
    except (Exception, SystemExit) as error:
        if _is_of_the_process(error):
            raise
        text = f"cannot load {target}: {_reason(error)}; {remedy(package_of(target))}"
        raise _NotLoaded(text, code="E-WING-006") from error


def _is_of_the_process(error: BaseException) -> bool:
    """True for an error explained elsewhere: a limit, or Ctrl-C, is not a fault of a package."""
    full = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
    return (
        isinstance(error, (NetlabError, MemoryError))
        or (isinstance(error, OSError) and error.errno in full)
        or (isinstance(error, RuntimeError) and error.args == (NO_THREAD,))
        or isinstance(error.__cause__, KeyboardInterrupt)
    )


def _reason(error: BaseException) -> str:
    """Reason in words, with the class of an error that says little without it."""
    imports = isinstance(error, (ImportError, AttributeError))
    return why(error) if imports else f"{type(error).__name__}: {why(error)}"


def remedy(package: str) -> str:
    """Remedy for a package that does not work."""
    return f"install {package} again" + ("" if package == "netlab" else ", or uninstall it")


def package_of(target: str) -> str:
    """Package that offers a target, else one of the same module, or the name of its top."""
    offers = [(one, package) for wing, package in _installed().values() for one in wing.texts()]
    points = [(point.value, package) for point, package in _points()]
    top = _top_of(target)
    exact = (package for one, package in offers if one == target)
    of_module = (package for one, package in (*points, *offers) if _top_of(one) == top)
    return next(chain(exact, of_module), top)


def _top_of(target: str) -> str:
    return target.partition(":")[0].partition(".")[0]


def _top(point: EntryPoint) -> str:
    return _top_of(point.value)


def _points() -> list[tuple[EntryPoint, str]]:
    """Entry points of wings and their packages: netlab's own first, then in alphabetical order.

    Where two wings offer the same name, that of the first one is used.
    """
    # 35 ms of CPU time, for those who ask only
    from importlib.metadata import entry_points

    found = [(one, one.dist.name if one.dist else one.value) for one in entry_points(group=GROUP)]
    return sorted(found, key=lambda pair: (_top(pair[0]) != "netlab", pair[0].name, pair[1]))


@cache
def _installed() -> dict[str, tuple[Wing, str]]:
    """The wings that can be used and their packages, by name."""
    found: dict[str, tuple[Wing, str]] = {}
    for point, package in _points():
        try:
            if point.name in found:
                text = f"{found[point.name][1]} has a wing of that name; uninstall one of them"
                raise NetlabError(text, code="E-WING-003")
            found[point.name] = _wing_at(point, package), package
        except NetlabError as error:
            where = f"the wing {point.name} of {package} (entry point {point.value})"
            _leave_out(NetlabError(f"{where} is left out: {error}", code=error.code))
    return found


def _wing_at(point: EntryPoint, package: str) -> Wing:
    try:
        wing = point.load()
    except (Exception, SystemExit) as error:
        if _is_of_the_process(error):
            raise
        text = f"{_reason(error)}; {remedy(package)}"
        raise NetlabError(text, code="E-WING-001") from error
    if not isinstance(wing, Wing):
        text = f"it is not a netlab.wings.Wing; {remedy(package)}"
        raise NetlabError(text, code="E-WING-002")
    return wing


def wings() -> dict[str, Wing]:
    """The installed wings by name, netlab's own first, then in alphabetical order."""
    return {name: wing for name, (wing, _) in _installed().items()}


def _merged(kind: str, core: Collection[str] = ()) -> dict[str, Any]:
    """One mapping of all wings; a name that the core has, or a wing before, is left out."""
    found: dict[str, Any] = {}
    for name, (wing, package) in _installed().items():
        for offered, target in getattr(wing, kind).items():
            text = f"{offered} of the wing {name} of {package} is left out ({kind})"
            if offered in core:
                text += f": netlab has it; uninstall {package}"
                _leave_out(NetlabError(text, code="E-WING-005"))
            elif offered in found:
                text += ": another wing has it, which is used; uninstall one of them"
                _leave_out(NetlabError(text, code="E-WING-004"))
            else:
                found[offered] = target
    return found


def of_others() -> bool:
    """True if a wing comes with another package."""
    return any(_top(point) != "netlab" for point, _ in _points())


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


def _loaded(kind: str) -> list[Any]:
    """Load what all wings offer of a kind; what cannot be loaded is left out."""
    return [one for one, _, _ in _loaded_of(kind)]


def _loaded_of(kind: str) -> Iterator[tuple[Any, str, str]]:
    """The same, with the names of the wing and of its package."""
    for name, (wing, package) in _installed().items():
        for target in getattr(wing, kind):
            try:
                yield load(target), name, package
            except _NotLoaded as error:
                text = f"{kind} of the wing {name} of {package} are left out: {error}"
                _leave_out(NetlabError(text, code=error.code))


def _asked_of_all(
    kind: str, whole: Callable[[Any], Any] = lambda answer: answer
) -> list[Callable[[Any], Any]]:
    """Functions of a measured study; an error in one of another package names the package."""

    asked = []
    for function, wing, package in _loaded_of(kind):
        of_wing = explained(function, f"{kind} of the wing {wing} of {package}", package, whole)
        asked.append(of_wing)
    return asked


def explained(
    function: Callable[[Any], Any],
    what: str,
    package: str,
    whole: Callable[[Any], Any] = lambda answer: answer,
) -> Callable[[Any], Any]:
    """A function of a measured study whose errors name its package, if that is not netlab's.

    `whole` makes what the answer yields later, in a generator, before it is returned.
    """

    @wraps(function)
    def ask(measured: Any) -> Any:
        try:
            return whole(function(measured))
        except (Exception, SystemExit) as error:
            if package == "netlab" or _is_of_the_process(error):
                raise
            text = f"{what}: {_reason(error)}; tell its author, or uninstall it"
            raise NetlabError(text, code="E-WING-007") from error

    return ask


def generators(core: Collection[str] = ()) -> dict[str, str]:
    """Generators of all wings; none has the name of one of the core."""
    return _merged("generators", core)


def pages() -> list[Any]:
    return _asked_of_all("pages", list)


def page_prefixes() -> tuple[str, ...]:
    return _all("page_prefixes")


def notebooks() -> list[Any]:
    return _asked_of_all("notebooks", list)


def openings() -> list[Any]:
    return _asked_of_all("openings")


def published() -> list[Any]:
    return _asked_of_all("published")


def path_finders() -> list[Any]:
    return _loaded("path_finders")


def formats() -> list[Any]:
    return _loaded("formats")


def stores() -> tuple[str, ...]:
    return _all("stores")


def files() -> tuple[str, ...]:
    return _all("files")
