"""Where netlab's own data files are."""

from __future__ import annotations

import os
from pathlib import Path

from netlab.errors import BadInput

_CHECKOUT_DATA = Path(__file__).resolve().parents[2] / "data"


def data_dir() -> Path:
    """Directory that holds ``published/``, ``studies/`` and ``tunings/``.

    Returns
    -------
    Path
        ``$NETLAB_DATA`` if set, else ``data/`` beside the package in a checkout.

    Raises
    ------
    BadInput
        ``NETLAB_DATA`` names no directory, or netlab is installed without its checkout and
        the variable is not set.
    """
    given = os.environ.get("NETLAB_DATA")
    if given:
        path = Path(given).expanduser()
        if not path.is_dir():
            raise BadInput("is not a directory", where="NETLAB_DATA", value=given)
        return path.resolve()
    if not _CHECKOUT_DATA.is_dir():
        raise BadInput(
            f"no data directory at {_CHECKOUT_DATA}; "
            "set NETLAB_DATA to the data/ directory of a netlab checkout"
        )
    return _CHECKOUT_DATA


def root_dir() -> Path:
    """The checkout (or whatever directory holds ``data/``), with ``notebooks/`` beside it."""
    return data_dir().parent


def notebook(name: str) -> Path:
    """One of netlab's own notebooks by file name.

    Raises
    ------
    BadInput
        There is no such notebook beside the data directory.
    """
    path = root_dir() / "notebooks" / name
    if not path.is_file():
        raise BadInput("no such notebook", where=str(path.parent), key=name)
    return path


def given_path(given: str | Path) -> Path:
    """Resolve a path that a user gave for results, a site or an export.

    A relative path is taken from the current directory; in ``notebooks/`` of the checkout, from
    the checkout. A path so means the same in JupyterLab, with papermill and in a script.

    Parameters
    ----------
    given : path-like
        Absolute, relative, or with ``~``.
    """
    here = Path.cwd()
    if here == root_dir() / "notebooks":
        here = root_dir()
    return here / Path(given).expanduser()


def study_file(given: str | Path) -> Path:
    """A study file from what a user typed: a path, a path from the checkout, or a bare name.

    ``openlab-2003`` means ``data/studies/openlab-2003.yml``.

    Raises
    ------
    BadInput
        Nothing of that name is a file.
    """
    text = str(given)
    candidates = [Path(text).expanduser(), root_dir() / text]
    if "/" not in text:
        candidates.append(data_dir() / "studies" / f"{text}.yml")
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    named = sorted(path.stem for path in (data_dir() / "studies").glob("*.yml"))
    raise BadInput(f"no such study file; by name there are {', '.join(named)}", value=text)


def results_dir(study_name: str) -> Path:
    """Where the results of a study go: ``data/results/<name>``."""
    return data_dir() / "results" / study_name
