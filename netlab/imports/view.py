"""Imports in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from netlab.errors import BadInput
from netlab.face.notebook import Shown
from netlab.face.results import Results
from netlab.files import paths
from netlab.files.tables import Sentence, Table
from netlab.imports import into_store
from netlab.imports.implied import implied_study, write_study
from netlab.imports.rows import Facts
from netlab.results.store import Store

if TYPE_CHECKING:
    from netlab.charts.forest import Axes


@dataclass(frozen=True, repr=False)
class Import(Shown):
    """Imported files, as :func:`import_files` returns them."""

    results: Results
    """Imported runs, with those of earlier imports into the same directory."""
    _done: into_store.Imported

    @property
    def frame(self) -> pd.DataFrame:
        """One row a file.

        ============  =========================================================
        column        meaning
        ============  =========================================================
        ``file``      name of the file
        ``format``    its format, by its content
        ``runs``      runs read from it, now or before
        ``problem``   why runs are refused, or cannot be right; else empty
        ============  =========================================================
        """
        runs = self.results.runs
        source = runs["provenance"].str.extract('"sha256": "([0-9a-f]*)"')[0]
        flagged = runs["message"].where(runs["flags"] != "", "")
        rows = []
        for one in self._done.files:
            messages = flagged[source == one.sha256].tolist()
            text = "; ".join([*one.reasons, *filter(None, messages)])
            rows.append((one.path.name, one.kind, len(messages), text))
        return pd.DataFrame(rows, columns=["file", "format", "runs", "problem"])

    @property
    def answer(self) -> Sentence:
        """Numbers of files that were read, and that cannot be right."""
        frame = self.frame
        bad = frame[frame["problem"] != ""]
        refused = int((bad["runs"] == 0).sum())
        return Sentence(
            f"{len(frame) - len(bad)} of {len(frame)} files can be right; {refused} gave no run, "
            f"and runs of {len(bad) - refused} are left out as wrong."
        )

    def problems(self) -> Table | Sentence:
        """The files that give no run, or one that cannot be right."""
        bad = self.frame.query("problem != ''")
        if bad.empty:
            return Sentence("Every file gives runs, and nothing speaks against one of them.")
        return Table(bad.reset_index(drop=True), "Files that cannot be right, or give no run")

    def plot(self, x: str = "streams", hue: str = "group", **levels: Any) -> Axes:
        """Draw goodput over a factor, as :meth:`Results.plot`."""
        return self.results.plot(x=x, hue=hue, **levels)


def import_files(
    directory: str | Path,
    *,
    study: str = "",
    sender: str,
    receiver: str,
    results: str | Path = "",
    **facts: Any,
) -> Import:
    """Import what other tools printed, and keep what it says about itself.

    Parameters
    ----------
    directory : path-like
        A file, or a directory with files below it; else the name of an example that comes with
        netlab, such as ``two-stacks``.
    study, sender, receiver : str
        Name of the study that the runs become, by default that of the directory, and of the hosts
        that sent and received.
    results : path-like
        Where the runs go, see :func:`netlab.files.paths.given_path`; the results of `study` by
        default. A file imported before is skipped. Nothing is written if the call is refused.
    **facts
        Facts that the files lack, as the options of ``netlab import``: ``mtu_B``, ``streams``,
        ``tuning``, ``started_at`` (a time or its text, in UTC if without an offset, or ``mtime``),
        ``measured_at``; and ``link_Mbps``, the link's rate in 10^6 bit/s: a run beyond it is
        flagged ``implausible``.

    Returns
    -------
    Import
        The results, a table of the files, and which of them cannot be right.

    Raises
    ------
    BadInput
        No such directory, no file that can be read, an unknown or impossible fact, or runs that
        make no study.

    Examples
    --------
    >>> import netlab
    >>> found = netlab.import_files(
    ...     "two-stacks", study="two-stacks", sender="left", receiver="right", link_Mbps=200
    ... )
    >>> found
    24 of 29 files can be right; 4 gave no run, and runs of 1 are left out as wrong.
    """
    where, example = paths.given_path(directory), paths.example(str(directory))
    if not where.exists() and example.exists():
        where = example
    study = study or where.resolve().name
    try:
        said = Facts(study=study, sender=sender, receiver=receiver, **facts)
    except TypeError as error:
        raise BadInput(str(error), where="import_files", code="E-FACE-010") from None
    into = paths.given_path(results) if results else paths.results_dir(study)
    files = into_store.below((where,))
    done = into_store.import_files(files, said, into, check=lambda runs: implied_study(runs, into))
    done.refused()
    if done.run_ids:
        write_study(Store(into).runs(), into)
    return Import(Results(into), done)
