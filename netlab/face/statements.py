"""The statements of the documents, recomputed, as a notebook shows them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from netlab.charts.chart import Chart, show
from netlab.charts.claims import verdicts
from netlab.files.paths import given_path
from netlab.files.tables import Table
from netlab.published.claims import check_all
from netlab.published.claims.tables import claims_table, sentence, verdict_counts
from netlab.report.tables import Sentence


class Claims:
    """Every quantitative statement of the documents with its verdict; shows itself as counts.

    Made by :func:`netlab.claims`.

    Attributes
    ----------
    frame : DataFrame
        One row a claim; see :func:`netlab.published.claims.check_all`.
    """

    def __init__(self) -> None:
        self.frame: pd.DataFrame = check_all()

    @property
    def answer(self) -> Sentence:
        """The number of claims of each verdict."""
        return Sentence(sentence(self.frame))

    @property
    def chart(self) -> Chart:
        """Number of claims by verdict, a bar a document."""
        return show(verdicts(self.frame))

    def counts(self) -> Table:
        """Number of claims by document and verdict."""
        return verdict_counts(self.frame)

    def table(self, *, document: str | None = None, verdict: str | None = None) -> Table:
        """Claims with their recomputed values, verdicts and reasons.

        Parameters
        ----------
        document, verdict : str, optional
            Only this document, only this verdict.

        Raises
        ------
        BadInput
            Unknown document or verdict.
        """
        return claims_table(self.frame, document=document, verdict=verdict)

    def export(self, directory: str | Path) -> Path:
        """Write the claims and their counts as CSV and LaTeX.

        Parameters
        ----------
        directory : path-like
            Where to, see :func:`netlab.files.paths.given_path`.

        Returns
        -------
        Path
            The directory.
        """
        place = given_path(directory)
        self.table().export(place / "claims")
        self.counts().export(place / "claims-verdicts")
        return place

    def _repr_html_(self) -> str:
        return self.answer._repr_html_() + self.counts()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.answer}\n{self.counts()!r}"
