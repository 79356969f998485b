"""Notebooks executed with papermill: names checked, output written whole or not at all."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.errors import BadInput, NetlabError
from netlab.notebooks.parameters import names_checked

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

EXIT_CODE_OF = {"BadInput": BadInput}


def _local_kernel_manager(directory: str) -> type[AsyncKernelManager]:
    """A kernel manager whose sockets are files in a directory of this user, not TCP ports."""
    from jupyter_client.manager import AsyncKernelManager

    class LocalKernelManager(AsyncKernelManager):
        def __init__(self, **settings: object):
            super().__init__(**{"transport": "ipc", "ip": f"{directory}/kernel", **settings})

    return LocalKernelManager


def execute(notebook: Path, output: Path, parameters: Mapping[str, object]) -> Path:
    """Execute a notebook and keep what it shows.

    Parameters
    ----------
    notebook : Path
        The notebook to run.
    output : Path
        Where the executed copy goes. While it runs it is written to a temporary name beside it.
    parameters : mapping
        Values for the cell tagged ``parameters``.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    BadInput
        A parameter that the notebook does not have, or that it refused.
    NetlabError
        A cell failed; the executed copy up to there is kept as ``<output>.failed.ipynb``.
    """
    import papermill  # here: loading it takes 1.5 s, and few commands execute a notebook
    from papermill.exceptions import PapermillExecutionError

    given = names_checked(notebook, parameters)
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.stem}.{os.getpid()}.partial.ipynb")
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        with tempfile.TemporaryDirectory(prefix="netlab-") as sockets:
            papermill.execute_notebook(
                str(notebook),
                str(partial),
                parameters=given,
                kernel_name="python3",
                kernel_manager_class=_local_kernel_manager(sockets),
                progress_bar=False,
                log_output=False,
                request_save_on_cell_execute=True,
            )
    except PapermillExecutionError as error:
        failed = output.with_name(f"{output.stem}.failed.ipynb")
        os.replace(partial, failed)
        kind = EXIT_CODE_OF.get(error.ename, NetlabError)
        message = f"{error.evalue}" if kind is BadInput else f"{error.ename}: {error.evalue}"
        raise kind(f"{message} (notebook {notebook.name}, kept as {failed})") from None
    except OSError as error:
        raise NetlabError(
            f"cannot write {output}: {error.strerror or error}", code="E-NOTEBOOKS-001"
        ) from None
    except KeyboardInterrupt:  # papermill takes it for the end, and the copy for a whole one
        partial.unlink(missing_ok=True)
        raise
    except RuntimeError as error:  # the kernel did not start, or died before a cell failed
        raise NetlabError(f"{notebook.name}: {error}", code="E-NOTEBOOKS-002") from None
    finally:
        partial_left = partial.exists()
        if partial_left and _complete(partial):
            os.replace(partial, output)
        elif partial_left:
            partial.unlink()
    return output


def _complete(notebook: Path) -> bool:
    """Whether papermill ended this run without an exception."""
    import nbformat

    try:
        status = nbformat.read(notebook, as_version=4).metadata.get("papermill", {})
    except (OSError, ValueError):
        return False
    return status.get("end_time") is not None and status.get("exception") is None
