"""A screen as text, tables, chart, and a page of the report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis.screened import (
    FULL_TUNING,
    NO_ROW,
    UNCLEAR,
    Against,
    ScreenRecord,
    read_screen,
    screen_files,
    smallest_effect_percent,
)
from netlab.charts.chart import show
from netlab.charts.compare import Axes, knob_forest
from netlab.errors import NetlabError
from netlab.files.tables import Table
from netlab.files.yaml_file import yaml_text
from netlab.report.compare import interval, percent
from netlab.report.page import Page, Section, as_html, page_of
from netlab.report.tables import Sentence, Tables
from netlab.study.schedule import slug

WIDTH = 100
OTHERS = {FULL_TUNING: "the whole tuning", NO_ROW: "no knob"}
PAGE = "screen-"
"""Beginning of the files of the pages."""


def to_text(found: ScreenRecord) -> str:
    """The screen for a terminal: effects, knobs that are not factors, least set."""
    parts = [_plain(effects_table(found)), _wrapped(method(found))]
    if found.left_out:
        parts.append(
            "Not factors\n"
            + "\n".join(_wrapped(f"{k}: {why}") for k, why in found.left_out.items())
        )
    parts.append("\n".join(_refused(found)))
    parts.append("\n".join(_wrapped(line) for line in conclusion(found)))
    return "\n\n".join(filter(None, parts))


def tables(found: ScreenRecord) -> Tables:
    """The screen for a notebook: effects, knobs that are not factors, least set."""
    parts: list[Table | Sentence] = [_effects(found)]
    if found.left_out:
        parts.append(_left_out(found))
    parts += map(Sentence, _refused(found))
    return Tables((*parts, *map(Sentence, conclusion(found))))


def chart(found: ScreenRecord, ax: Axes | None = None) -> Axes:
    """Forest plot of the effects."""
    title = f"{found.tuning} on {found.path}"
    return knob_forest(found.effects, found.same_within_percent, title=title, ax=ax)


def least_yaml(found: ScreenRecord, name: str = "") -> str:
    """The least set as the text of a tuning's file, under another name if one is given."""
    content = found.least_tuning
    return yaml_text({"name": "", **content} | {"name": name or content["name"]})


def effects_table(found: ScreenRecord) -> pd.DataFrame:
    """Knobs by size of their effect, then pairs, as text."""
    frame = found.effects
    size = frame["ratio"].map(math.log).abs()
    order = pd.DataFrame({"pair": frame["with_knob"] != "", "size": -size})
    frame = frame.loc[order.sort_values(["pair", "size"], kind="stable").index]
    names = [
        f"{knob} x {second}" if second else knob
        for knob, second in zip(frame["knob"], frame["with_knob"], strict=True)
    ]
    spans = [interval(*pair) for pair in zip(frame["low"], frame["high"], strict=True)]
    return pd.DataFrame(
        {
            "knob": names,
            "effect, %": [percent(ratio) for ratio in frame["ratio"]],
            "interval": spans,
            "verdict": frame["verdict"].tolist(),
        }
    )


def _effects(found: ScreenRecord) -> Table:
    caption = f"Screen of {found.tuning}"
    return Table(effects_table(found), caption, note=method(found), data=found.effects)


def _left_out(found: ScreenRecord) -> Table:
    frame = pd.DataFrame(found.left_out.items(), columns=["knob", "reason"])
    return Table(frame, "Not factors")


def _refused(found: ScreenRecord) -> list[str]:
    return [
        f"{k}: refused in {n} row{'s' * (n != 1)} with it" for k, n in found.refused_rows.items()
    ]


def method(found: ScreenRecord) -> str:
    """Design, runs, and definition of the figures."""
    text = (
        f"{found.design.capitalize()} design of {len(found.knobs)} knobs: {len(found.rows)} rows, "
        f"{found.valid_runs} of {found.runs} runs valid. Effect: goodput with the knob against "
        "goodput without, "
    )
    if found.design == "leave-one-out":
        text += "beside all other knobs, mean ratio within a round. "
    else:
        text += "mean over the settings of the others, within rounds. "
    text += "Intervals hold for all rows of the table at once; faster and slower by Holm's test. "
    if (found.effects["with_knob"] != "").any():
        text += "A x B: effect of A with B against its effect without. "
        if found.design == "folded":
            text += "Pairs are those of knobs that were found, and hold if no other pair matters. "
    smallest = smallest_effect_percent(found.effects)
    if not math.isnan(smallest):
        text += f"An effect below {smallest:.1f} % may have been missed."
    return text.strip() + f" Path {found.path}, {found.group}."


def conclusion(found: ScreenRecord) -> list[str]:
    """The least set, and its confirmation."""
    lines = []
    for confirmation in found.tries:
        lines.append(f"Least set: {', '.join(confirmation.knobs) or 'no knob'}.")
        lines += [_compared(one, found) for one in confirmation.against]
    lines.append(f"The least set is {found.verdict}." if found.concluded else _open(found))
    return lines


def _compared(one: Against, found: ScreenRecord) -> str:
    bound = found.same_within_percent
    word = f"{one.verdict} within {bound:g} %" if one.verdict == "the same" else one.verdict
    return (
        f"Least set against {OTHERS[one.other]}, {one.rounds} rounds of its own: "
        f"{percent(one.ratio)} % ({interval(one.low, one.high)}), {word}."
    )


def _open(found: ScreenRecord) -> str:
    if found.verdict == UNCLEAR:
        return (
            "No conclusion on the least set: take more --confirm-rounds, or a wider --same-within."
        )
    return (
        "The least set does not give the whole gain: an effect is too small for these rounds, or "
        "knobs act only together; take more --rounds, or --design full."
    )


def _plain(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, justify="left")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH)


def screen_pages(results: Path) -> Iterator[Page]:
    """A page for each screen below a directory of results; one that cannot be read says so."""
    for file in screen_files(results):
        name = file.parent.name
        try:
            yield _page(name, read_screen(file))
        except NetlabError as error:
            lead = Section("In short", as_html(Sentence(str(error))))
            yield page_of(_file(name), f"Screen {name}", f"Screen: {name}", "not readable", [lead])


def _file(name: str) -> str:
    return f"{PAGE}{slug(name)}.html"


def _page(name: str, found: ScreenRecord) -> Page:
    few = f"{len(found.least_set)} of {len(found.knobs)} knobs are in the least set."
    sections = [
        Section("In short", _sentences([few, *conclusion(found)])),
        Section("Effects", as_html(show(chart(found))) + as_html(_effects(found))),
        Section("Tuning to use", _to_use(found)),
    ]
    if found.left_out or found.refused_rows:
        shown = as_html(_left_out(found)) if found.left_out else Markup("")
        sections.append(Section("Not factors", shown + _sentences(_refused(found))))
    return page_of(
        _file(name),
        f"Screen of {found.tuning}",
        f"Screen: {name}",
        f"effect of each knob of {found.tuning}, and the least set of them",
        sections,
    )


def _sentences(lines: list[str]) -> Markup:
    return Markup("").join(as_html(Sentence(line)) for line in lines)


def _to_use(found: ScreenRecord) -> Markup:
    """The tuning, and the place it goes to."""
    file = f"tunings/{found.least_tuning['name']}.yml"
    text = f"Save it as {file} beside a study, and name it there under tunings."
    return Markup("<p>{}</p>\n<pre><code>{}</code></pre>").format(text, least_yaml(found))
