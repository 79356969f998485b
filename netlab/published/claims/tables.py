"""The claims as tables for a reader."""

from __future__ import annotations

import pandas as pd

from netlab.errors import BadInput
from netlab.files.tables import Table
from netlab.published.claims import DOCUMENTS, check_all
from netlab.published.claims.model import Verdict

_HEADS = {
    "place": "Where", "statement": "What is said", "claimed": "Claimed",
    "recomputed": "Recomputed", "verdict": "Verdict", "why": "Why",
}  # fmt: skip


_DONE = {
    Verdict.HOLDS: "hold",
    Verdict.ROUNDS: "hold when rounded",
    Verdict.CONTRADICTED: "are contradicted",
    Verdict.NOT_CHECKABLE: "cannot be checked",
}


def verdict_counts(found: pd.DataFrame | None = None) -> Table:
    """Number of claims by document and verdict."""
    frame = check_all() if found is None else found
    counts = pd.crosstab(frame["document"], frame["verdict"])
    counts = counts.reindex(index=list(DOCUMENTS), columns=[str(v) for v in Verdict], fill_value=0)
    counts.index = pd.Index([DOCUMENTS[name] for name in counts.index], name="Document")
    counts.columns.name = None
    counts["all"] = counts.sum(axis=1)
    counts.loc["All documents"] = counts.sum()
    counts.index.name = "Document"
    return Table(counts, "Verdicts by document")


def sentence(found: pd.DataFrame) -> str:
    """A sentence on the number of claims of each verdict."""
    counts = found["verdict"].value_counts()
    parts = [f"{counts.get(str(verdict), 0)} {_DONE[verdict]}" for verdict in Verdict]
    return f"Of {len(found)} claims {', '.join(parts[:-1])} and {parts[-1]}."


def claims_table(
    found: pd.DataFrame | None = None,
    *,
    document: str | None = None,
    verdict: Verdict | str | None = None,
) -> Table:
    """Claims with their recomputed values, verdicts and reasons."""
    frame = check_all() if found is None else found
    caption = "Claims"
    if document is not None:
        if document not in DOCUMENTS:
            raise BadInput(
                f"must be one of {', '.join(DOCUMENTS)}",
                key="document",
                value=document,
                code="E-PUBLISHED-008",
            )
        frame = frame[frame["document"] == document]
        caption = f"Claims of “{DOCUMENTS[document]}”"
    if verdict is not None:
        choices = [str(v) for v in Verdict]
        if verdict not in choices:
            raise BadInput(
                f"must be one of {', '.join(choices)}",
                key="verdict",
                value=verdict,
                code="E-PUBLISHED-009",
            )
        frame = frame[frame["verdict"] == verdict]
        caption += f" that are {verdict}" if verdict != "holds" else " that hold"
    columns = [*(["document"] if document is None else []), *_HEADS]
    return Table(
        frame[columns].reset_index(drop=True),
        f"{caption} ({len(frame)})",
        heads={"document": "Document", **_HEADS},
    )
