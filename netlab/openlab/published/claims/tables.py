"""The claims as tables for a reader."""

from __future__ import annotations

import pandas as pd

from netlab.errors import require
from netlab.files.tables import Table
from netlab.openlab.published.claims import DOCUMENTS, HEADS
from netlab.openlab.published.claims.claim import Verdict
from netlab.units import listed

_DONE = {
    Verdict.HOLDS: "hold",
    Verdict.ROUNDS: "hold when rounded",
    Verdict.CONTRADICTED: "are contradicted",
    Verdict.NOT_CHECKABLE: "cannot be checked",
}


def counts_of(found: pd.DataFrame) -> pd.DataFrame:
    """Number of claims, a row a document and a column a verdict."""
    counts = pd.crosstab(found["document"], found["verdict"])
    return counts.reindex(index=list(DOCUMENTS), columns=[str(v) for v in Verdict], fill_value=0)


def verdict_counts(found: pd.DataFrame) -> Table:
    counts = counts_of(found).rename(index=DOCUMENTS).rename_axis(columns=None)
    counts["all"] = counts.sum(axis=1)
    counts.loc["All documents"] = counts.sum()
    counts.index.name = "Document"
    return Table(counts, "Verdicts by document")


def sentence(found: pd.DataFrame) -> str:
    """A sentence on the number of claims of each verdict."""
    counts = found["verdict"].value_counts()
    parts = [f"{counts.get(str(verdict), 0)} {_DONE[verdict]}" for verdict in Verdict]
    return f"Of {len(found)} claims {listed(parts)}."


def claims_table(
    found: pd.DataFrame, *, document: str | None = None, verdict: Verdict | str | None = None
) -> Table:
    frame, caption = found, "Claims"
    if document is not None:
        require(document, DOCUMENTS, key="document", code="E-PUBLISHED-008")
        frame = frame[frame["document"] == document]
        caption = f"Claims of “{DOCUMENTS[document]}”"
    if verdict is not None:
        require(verdict, [str(v) for v in Verdict], key="verdict", code="E-PUBLISHED-009")
        frame = frame[frame["verdict"] == verdict]
        caption += f" that are {verdict}" if verdict != "holds" else " that hold"
    columns = [*(["document"] if document is None else []), *HEADS]
    return Table(
        frame[columns].reset_index(drop=True),
        f"{caption} ({len(frame)})",
        heads={"document": "Document", **HEADS},
    )
