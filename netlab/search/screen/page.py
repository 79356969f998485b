"""A screen as text, tables, chart, and a page of the report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from netlab.analysis.effects import NO_INTERVAL
from netlab.charts.chart import show
from netlab.charts.comparisons import knob_forest
from netlab.charts.forest import Axes
from netlab.errors import NetlabError
from netlab.files.frame_text import frame_text
from netlab.files.tables import Table
from netlab.files.text_columns import left
from netlab.files.yaml_file import yaml_text
from netlab.report.compare import interval, percent
from netlab.report.page import Page, Section, page_of
from netlab.report.tables import Sentence, Tables
from netlab.report.templating import as_html
from netlab.results import campaign_files
from netlab.results.conditions import Difference, apart, listed
from netlab.search.screen import record as screened
from netlab.search.screen.record import ScreenRecord
from netlab.study.schedule import slug

WIDTH = 100
OTHERS = {screened.FULL_TUNING: "the whole tuning", screened.NO_ROW: "no knob"}
PAGE = "screen-"
"""Beginning of the files of the pages."""


def to_text(record: ScreenRecord) -> str:
    """The screen for a terminal: effects, knobs that are not factors, least set."""
    wrapped = partial(textwrap.fill, width=WIDTH)
    left_out = [wrapped(f"{knob}: {why}") for knob, why in record.left_out.items()]
    parts = [
        [frame_text(effects_table(record), head=left)],
        [wrapped(method(record))],
        ["Not factors", *left_out] if left_out else [],
        _refused(record),
        map(wrapped, conclusion(record)),
    ]
    return "\n\n".join(filter(None, map("\n".join, parts)))


def tables(record: ScreenRecord) -> Tables:
    """The screen for a notebook: effects, knobs that are not factors, least set."""
    sentences = map(Sentence, [*_refused(record), *conclusion(record)])
    return Tables((_effects(record), *_left_out(record), *sentences))


def chart(record: ScreenRecord, ax: Axes | None = None) -> Axes:
    title = f"{record.tuning} on {record.path}"
    return knob_forest(record.effects, record.same_within_percent, title=title, ax=ax)


def least_yaml(record: ScreenRecord, name: str = "") -> str:
    """The least set as the text of a tuning's file, under another name if one is given."""
    content = record.least_tuning
    return yaml_text({"name": "", **content} | {"name": name or content["name"]})


def effects_table(record: ScreenRecord) -> pd.DataFrame:
    """Knobs by size of their effect, then pairs, as text."""
    frame = record.effects
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


def _effects(record: ScreenRecord) -> Table:
    caption = f"Screen of {record.tuning}"
    return Table(effects_table(record), caption, note=method(record), data=record.effects)


def _left_out(record: ScreenRecord) -> list[Table]:
    frame = pd.DataFrame(record.left_out.items(), columns=["knob", "reason"])
    return [Table(frame, "Not factors")] if len(frame) else []


def _refused(record: ScreenRecord) -> list[str]:
    return [
        f"{k}: refused in {n} row{'s' * (n != 1)} with it" for k, n in record.refused_rows.items()
    ]


def method(record: ScreenRecord) -> str:
    """Design, runs, and definition of the figures."""
    text = (
        f"{record.design.capitalize()} design of {len(record.knobs)} knobs: "
        f"{len(record.rows)} rows, {record.valid_runs} of {record.runs} runs valid. "
        "Effect: goodput with the knob against goodput without, "
    )
    if record.design == "leave-one-out":
        text += "beside all other knobs, mean ratio within a round. "
    else:
        text += "mean over the settings of the others, within rounds. "
    text += "Intervals hold for all rows of the table at once; faster and slower by Holm's test. "
    if (record.effects["with_knob"] != "").any():
        text += "A x B: effect of A with B against its effect without. "
        if record.design == "folded":
            text += "Pairs are those of knobs that were found, and hold if no other pair matters. "
    smallest = screened.smallest_effect_percent(record.effects)
    if not math.isnan(smallest):
        text += f"An effect below {smallest:.1f} % may have been missed."
    return text.strip() + f" Path {record.path}, {record.group}."


def conclusion(record: ScreenRecord) -> list[str]:
    lines = []
    for confirmation in record.tries:
        lines.append(f"Least set: {', '.join(confirmation.knobs) or 'no knob'}.")
        lines += [_compared(one, record) for one in confirmation.against]
    if not lines:
        lines.append("No knob was found to raise goodput: there is no least set to confirm.")
    lines.append(f"The least set is {record.verdict}." if record.concluded else _open(record))
    return lines


def _compared(one: screened.Against, record: ScreenRecord) -> str:
    bound = record.same_within_percent
    word = f"{one.verdict} within {bound:g} %" if one.verdict == "the same" else one.verdict
    return (
        f"Least set against {OTHERS[one.other]}, {one.rounds} rounds of its own: "
        f"{percent(one.ratio)} % ({interval(one.low, one.high)}), {word}."
    )


def _open(record: ScreenRecord) -> str:
    if not record.tries:
        return "Some effects are too small for these rounds: take more --rounds, or fewer knobs."
    if record.verdict in (screened.UNCLEAR, NO_INTERVAL):
        return (
            "No conclusion on the least set: take more --confirm-rounds, or a wider --same-within."
        )
    return (
        "The least set does not give the whole gain: an effect is too small for these rounds, or "
        "knobs act only together; take more --rounds, or --design full."
    )


def screen_pages(results: Path, campaign: str | None) -> Iterator[Page]:
    """A page for each screen below a directory of results; one that cannot be read says so.

    One made under other conditions than the campaign of the study names them.
    """
    for file in screened.screen_files(results):
        name = file.parent.name
        try:
            record = screened.read_screen(file)
            yield _page(name, record, list(_conditions(file.parent, record, results, campaign)))
        except NetlabError as error:
            lead = Section("In short", Sentence(str(error)))
            yield page_of(_file(name), f"Screen {name}", f"Screen: {name}", "not readable", [lead])


def _conditions(
    place: Path, record: ScreenRecord, results: Path, campaign: str | None
) -> Iterator[str]:
    """Sentences on a screen that is not the last, or was made under other conditions."""
    effects = place / screened.EFFECTS
    if (
        not record.campaign
        or not campaign_files.conditions_file(effects, record.campaign).is_file()
    ):
        return
    made = campaign_files.read_conditions(effects, record.campaign)
    last = campaign_files.latest(effects)
    if last != record.campaign:
        changed = _changed(made, campaign_files.read_conditions(effects, last))
        under = f" under other settings ({listed([c.change() for c in changed])})" * bool(changed)
        yield f"A later screen was begun{under} and has not ended; this is the one before."
    if changed := _changed(made, campaign_files.read_conditions(results, campaign)):
        before = listed([one.as_before() for one in changed])
        yield f"Measured under other settings than the study's runs: {before}."


def _changed(
    before: campaign_files.Conditions | None, now: campaign_files.Conditions | None
) -> tuple[Difference, ...]:
    return () if before is None or now is None else apart(before, now)


def _file(name: str) -> str:
    return f"{PAGE}{slug(name)}.html"


def _page(name: str, record: ScreenRecord, other: list[str]) -> Page:
    few = f"{len(record.least_set)} of {len(record.knobs)} knobs are in the least set."
    sections = [
        Section("In short", Tables(tuple(map(Sentence, [*other, few, *conclusion(record)])))),
        Section("Effects", as_html(show(chart(record))) + as_html(_effects(record))),
        Section("Tuning to use", _to_use(record)),
    ]
    if record.left_out or record.refused_rows:
        others = Tables((*_left_out(record), *map(Sentence, _refused(record))))
        sections.append(Section("Not factors", others))
    return page_of(
        _file(name),
        f"Screen of {record.tuning}",
        f"Screen: {name}",
        f"effect of each knob of {record.tuning}, and the least set of them",
        sections,
    )


def _to_use(record: ScreenRecord) -> Markup:
    """The tuning, and the place it goes to."""
    file = f"tunings/{record.least_tuning['name']}.yml"
    text = f"Save it as {file} beside a study, and name it there under tunings."
    return Markup("<p>{}</p>\n<pre><code>{}</code></pre>").format(text, least_yaml(record))
