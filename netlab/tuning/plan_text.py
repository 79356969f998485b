"""Plans as diffs, in text and in HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from netlab.tuning.plan import Change


def _lines(changes: Iterable[Change]) -> list[tuple[str, str]]:
    """(class, text) of each line; the class is `old`, `new`, `same` or `unsupported`."""
    lines = []
    for change in changes:
        label = f"{change.interface or ''} {change.knob.label}".strip()
        remark = f"   # {change.source}" + (f", {change.parameter}" if change.parameter else "")
        if not change.supported:
            text = f"! {label} = {change.new}   # unsupported: {change.reason} ({change.source})"
            lines.append(("unsupported", text))
        elif change.changes:
            lines.append(("old", f"- {label} = {change.old}"))
            remark += f"; risk: {change.knob.risk}" if change.knob.risk else ""
            lines.append(("new", f"+ {label} = {change.new}{remark}"))
        else:
            lines.append(("same", f"  {label} = {change.new}{remark}"))
    return lines or [("same", "  no setting is changed")]


def plan_text(changes: Iterable[Change]) -> str:
    """The plan as a diff, one or two lines a knob, each ended by a newline."""
    return "".join(f"{text}\n" for _, text in _lines(changes))


_COLOUR = {"old": "#8b1a1a", "new": "#14601f", "same": "#555", "unsupported": "#7a5200"}


def plan_html(changes: Iterable[Change]) -> str:
    spans = (
        f'<span style="color:{_COLOUR[k]}">{escape(text)}</span>' for k, text in _lines(changes)
    )
    return (
        '<pre class="netlab-tuning-plan" style="word-break:normal">' + "\n".join(spans) + "</pre>"
    )
