"""Plans as diffs, in text and in HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from netlab.tuning.plan import Change


def _lines(changes: Iterable[Change]) -> list[tuple[str, str]]:
    """(class, text) of each line; the class is `old`, `new`, `same` or `unsupported`."""
    lines = []
    changes = tuple(changes)
    if not changes:
        lines.append(("same", "  no setting is changed"))
    for change in changes:
        label = change.knob.label
        if change.interface:
            label = f"{change.interface} {label}"
        remark = f"   # {change.source}"
        if change.parameter:
            remark += f", {change.parameter}"
        if not change.supported:
            text = f"! {label} = {change.new}   # unsupported: {change.reason} ({change.source})"
            lines.append(("unsupported", text))
        elif change.changes:
            lines.append(("old", f"- {label} = {change.old}"))
            lines.append(("new", f"+ {label} = {change.new}{remark}"))
        else:
            lines.append(("same", f"  {label} = {change.new}{remark}"))
    return lines


def plan_text(changes: Iterable[Change]) -> str:
    """The plan as a diff, one or two lines a knob, each ended by a newline."""
    return "".join(f"{text}\n" for _, text in _lines(changes))


_COLOUR = {"old": "#8b1a1a", "new": "#14601f", "same": "#555", "unsupported": "#7a5200"}


def plan_html(changes: Iterable[Change]) -> str:
    """The plan as a diff for a notebook, in a ``pre`` element; every value is escaped."""
    body = "\n".join(
        f'<span style="color:{_COLOUR[kind]}">{escape(text)}</span>'
        for kind, text in _lines(changes)
    )
    return f'<pre class="netlab-tuning-plan">{body}</pre>'
