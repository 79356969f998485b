"""Locations of netlab's own data and of its results.

Two places, never mixed. What comes with netlab (figures, studies, tunings, notebooks) is read from
the checkout or from the installed package. What netlab makes (results, sites) goes to a directory
of the user's, never into an installation.
"""

from __future__ import annotations

import os
from pathlib import Path

from netlab.errors import BadInput

HOME, DATA = "NETLAB_HOME", "NETLAB_DATA"
NOTEBOOKS, FIRST_NOTEBOOK = "notebooks", "00-start-here.ipynb"
COPIES = (NOTEBOOKS, "work")
"""Names of directories whose copies of netlab's notebooks work in the directory above."""

_CHECKOUT = Path(__file__).resolve().parents[2]
_INSTALLED_DATA = Path(__file__).resolve().parents[1] / "_data"
_LACKING = "the installation is incomplete: this is missing; install netlab again"


def _from_environment(name: str) -> Path | None:
    """Absolute path that an environment variable holds; None where it is unset or empty."""
    value = os.environ.get(name)
    return Path(value).expanduser().absolute() if value else None


def _checkout() -> Path | None:
    """The checkout this package is in; None for an installed one."""
    is_checkout = (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "data").is_dir()
    return _CHECKOUT if is_checkout else None


def data_dir() -> Path:
    """Directory that holds ``published/``, ``studies/`` and ``tunings/``."""
    directory = _from_environment(DATA)
    if directory is not None:
        if not directory.is_dir():
            value = os.environ[DATA]
            raise BadInput("is not a directory", where=DATA, value=value, code="E-FILES-003")
        return directory.resolve()
    checkout = _checkout()
    if checkout is not None:
        return checkout / "data"
    if not _INSTALLED_DATA.is_dir():
        message = f"{_LACKING}, or set {DATA} to the data/ directory of a netlab checkout"
        raise BadInput(message, where=str(_INSTALLED_DATA), code="E-FILES-004")
    return _INSTALLED_DATA


def root_dir() -> Path:
    """Directory that netlab works in: relative paths of notebooks, results and sites start here."""
    home = _from_environment(HOME)
    if home is not None:
        return home
    if _from_environment(DATA) is not None:
        return data_dir().parent
    return _checkout() or _above_notebooks(Path.cwd())


def _above_notebooks(here: Path) -> Path:
    """The directory `here`, or its parent where `here` is a copy of netlab's notebooks."""
    copied = here.name in COPIES and (here / FIRST_NOTEBOOK).is_file()
    # results of a version that took only `notebooks` for such a copy stay in use
    has_results = here.name != NOTEBOOKS and (here / "results").is_dir()
    return here.parent if copied and not has_results else here


def notebooks_dir() -> Path:
    beside, inside = data_dir().parent / NOTEBOOKS, data_dir() / NOTEBOOKS
    own = (_checkout() or _INSTALLED_DATA) / NOTEBOOKS
    return next((place for place in (beside, inside) if (place / FIRST_NOTEBOOK).is_file()), own)


def notebook(name: str) -> Path:
    path = notebooks_dir() / name
    if not path.is_file():
        raise BadInput("no such notebook", where=str(path.parent), key=name, code="E-FILES-005")
    return path


def own_file(name: str) -> Path:
    """A file that netlab brings beside its data: ``uv.lock``, ``CITATION.cff`` or a document."""
    root = _checkout() or _INSTALLED_DATA
    places = (root, root / "docs", root / "native")
    path = next((place / name for place in places if (place / name).is_file()), root / name)
    if not path.is_file():
        raise BadInput(_LACKING, where=str(path), code="E-FILES-014")
    return path


def given_path(given: str | Path) -> Path:
    """Resolve a path that a user gave for results, a site or an export.

    A relative path is taken from the current directory; in ``notebooks/`` of the checkout and in
    ``work/``, where ``make notebook`` has its copies, from the checkout. A path so means the same
    in JupyterLab, with papermill and in a script.
    """
    if not isinstance(given, str | os.PathLike):
        text = f"must be a name or a path; this is of type {type(given).__name__}"
        raise BadInput(text, code="E-FILES-090")
    here = Path.cwd()
    if here in (root_dir() / name for name in COPIES):
        here = root_dir()
    return here / Path(given).expanduser()


def study_file(given: str | Path) -> Path:
    """A study file from what a user typed: a path, a path from :func:`root_dir`, or a bare name.

    ``openlab-2003`` and ``data/studies/openlab-2003.yml`` are the study that comes with netlab,
    wherever its data are.
    """
    text = str(given)
    candidates = [Path(text).expanduser(), root_dir() / text]
    if "/" not in text:
        candidates.append(data_dir() / "studies" / f"{text}.yml")
    elif text.startswith("data/"):
        candidates.append(data_dir() / text.removeprefix("data/"))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    other = next((path for path in candidates if path.exists()), None)
    if other is not None:
        kind = "a directory" if other.is_dir() else "a device or a socket"
        raise BadInput(f"is {kind}, not a study file", where=str(other), code="E-FILES-015")
    named = sorted(path.stem for path in (data_dir() / "studies").glob("*.yml"))
    reason = f"no such file; by name there are {', '.join(named)}"
    raise BadInput(reason, key="study", value=text, code="E-FILES-006")


def is_stored(study: str | Path) -> bool:
    """True for the file of a study inside results or a bundle: it is data that came with them.

    Results and bundles name it ``study.yml``. A file of another name, beside results or beside a
    folder ``runs`` of one's own, is its user's.
    """
    file = Path(study).absolute()
    place = file.parent
    if place.parent.name == "campaigns":
        place = place.parent.parent
    stores = (place / "runs", place / "results" / "runs")
    return file.name == "study.yml" and any(runs.is_dir() for runs in stores)


QUICK = "-quick"
"""End of the name of a study's short form."""


def results_root() -> Path:
    in_data = _from_environment(DATA) is not None or _checkout() is not None
    if _from_environment(HOME) is None and in_data:
        return data_dir() / "results"
    return root_dir() / "results"


def names_below(directory: Path) -> list[str]:
    """Names in a directory, none without it; PermissionError where glob has no names either."""
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a null byte
        return []


def results_dir(study_name: str) -> Path:
    return results_root() / study_name


def example(name: str) -> Path:
    """A measured example that comes with netlab: a directory, which may not exist."""
    return data_dir() / "examples" / name


def site_dir() -> Path:
    """Default directory of a report: ``site`` in :func:`root_dir`."""
    return root_dir() / "site"
