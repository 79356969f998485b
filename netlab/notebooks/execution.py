"""Notebooks executed with papermill: names checked, output written whole or not at all."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.errors import BadInput, NetlabError
from netlab.notebooks.parameters import names_checked

if TYPE_CHECKING:
    from netlab.notebooks.kernel import Kernel

EXIT_CODE_OF = {"BadInput": BadInput}


def execute(
    notebook: Path,
    output: Path,
    parameters: Mapping[str, object],
    *,
    kernel: Kernel | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Execute a notebook and save it with its outputs.

    Parameters
    ----------
    notebook : Path
        The notebook to run.
    output : Path
        Where the executed copy goes. While it runs it is written to a temporary name beside it.
    parameters : mapping
        Values for the cell tagged ``parameters``.
    kernel : Kernel, optional
        A running kernel; one of its own when left out.
    on_progress : callable, optional
        Called with every message of :func:`netlab.notebooks.progress.announce`.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    BadInput
        A parameter that the notebook does not have, or that it refused.
    NetlabError
        A cell failed; the executed copy up to there is saved as ``<output>.failed.ipynb``.
    """
    import papermill  # here: loading it takes 1.5 s, and few commands execute a notebook
    from papermill.exceptions import PapermillExecutionError

    from netlab.notebooks.kernel import ENGINE
    from netlab.notebooks.kernel import Kernel as OwnKernel

    given = names_checked(notebook, parameters)
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.stem}.{os.getpid()}.partial.ipynb")
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        with nullcontext(kernel) if kernel is not None else OwnKernel() as running:
            papermill.execute_notebook(
                str(notebook),
                str(partial),
                parameters=given,
                engine_name=ENGINE,
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                request_save_on_cell_execute=True,
                kernel=running,
                on_progress=on_progress,
            )
    except PapermillExecutionError as error:
        failed = output.with_name(f"{output.stem}.failed.ipynb")
        os.replace(partial, failed)
        kind = EXIT_CODE_OF.get(error.ename, NetlabError)
        message = f"{error.evalue}" if kind is BadInput else f"{error.ename}: {error.evalue}"
        raise kind(f"{message} (notebook {notebook.name}, saved as {failed})") from None
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
    """True if papermill ended this run without an exception."""
    from netlab.notebooks.format import nbformat

    try:
        status = nbformat.read(notebook, as_version=4).metadata.get("papermill", {})
    except (OSError, ValueError):
        return False
    return status.get("end_time") is not None and status.get("exception") is None
