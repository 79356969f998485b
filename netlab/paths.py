"""Where netlab's own data files are."""

from __future__ import annotations

import os
from pathlib import Path

from netlab.errors import BadInput

_CHECKOUT_DATA = Path(__file__).resolve().parent.parent / "data"


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
