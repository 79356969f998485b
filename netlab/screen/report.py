"""A screen as text, tables, chart and JSON, and its least set as a tuning file."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.charts.screen import knob_forest
from netlab.files.json_file import write_json, write_text
from netlab.files.tables import Table
from netlab.files.yaml_file import yaml_text
from netlab.report.compare import interval, percent
from netlab.report.tables import Sentence, Tables
from netlab.screen.design import FOLDED, LEAVE_ONE_OUT, NO_ROW
from netlab.screen.request import FULL_TUNING
from netlab.screen.run import CONFIRM, EFFECTS, Against, Screened, smallest_effect_percent
from netlab.tuning.profiles import Tuning, read_tuning

if TYPE_CHECKING:
    from netlab.charts.compare import Axes

WIDTH = 100
OTHERS = {FULL_TUNING: "the whole tuning", NO_ROW: "no knob"}


def to_text(found: Screened) -> str:
    """The screen for a terminal: effects, knobs that are no factor, least set."""
    parts = [_plain(effects_table(found)), _wrapped(method(found))]
    if found.probed.left_out:
        parts.append(
            "Not factors\n"
            + "\n".join(_wrapped(f"{k}: {why}") for k, why in found.probed.left_out.items())
        )
    if found.refused:
        lines = [f"{k}: refused in {n} rows that set it" for k, n in found.refused.items()]
        parts.append("\n".join(lines))
    parts.append("\n".join(_wrapped(line) for line in conclusion(found)))
    return "\n\n".join(parts)


def tables(found: Screened) -> Tables:
    """The screen for a notebook: effects, knobs that are no factor, least set."""
    parts: list[Table | Sentence] = [
        Table(effects_table(found), f"Screen of {found.ask.tuning}", note=method(found))
    ]
    if found.probed.left_out:
        left_out = pd.DataFrame(found.probed.left_out.items(), columns=["knob", "reason"])
        parts.append(Table(left_out, "Not factors"))
    return Tables((*parts, *map(Sentence, conclusion(found))))


def chart(found: Screened, ax: Axes | None = None) -> Axes:
    """Forest plot of the effects."""
    bound = found.ask.same_within_percent
    title = f"{found.ask.tuning} on {found.ask.group.path}"
    return knob_forest(found.effects, bound, title=title, ax=ax)


def effects_table(found: Screened) -> pd.DataFrame:
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


def method(found: Screened) -> str:
    """Design, runs, and definition of the figures."""
    ask, plan = found.ask, found.design
    text = (
        f"{plan.kind} design of {len(plan.knobs)} knobs: {len(plan.rows)} rows, "
        f"{found.valid_runs} of {found.runs} runs valid. Effect: goodput with the knob against "
        "goodput without, "
    )
    if plan.kind == LEAVE_ONE_OUT:
        text += "beside all other knobs, mean ratio within a round. "
    else:
        text += "mean over the settings of the others, within rounds. "
    text += "Intervals hold for all rows of the table at once; faster and slower by Holm's test. "
    if (found.effects["with_knob"] != "").any():
        text += "A x B: effect of A with B against its effect without. "
        if plan.kind == FOLDED:
            text += "Pairs are those of knobs that were found, and hold if no other pair matters. "
    smallest = smallest_effect_percent(found.effects)
    if not math.isnan(smallest):
        text += f"An effect below {smallest:.1f} % may have been missed."
    return text.strip() + f" Path {ask.group.path}, {ask.group.name}."


def conclusion(found: Screened) -> list[str]:
    """The least set, and its confirmation."""
    lines = []
    for confirmation in found.tries:
        lines.append(f"Least set: {', '.join(confirmation.knobs) or 'no knob'}.")
        for one in confirmation.against:
            lines.append(
                f"Least set against {OTHERS[one.other]}, {one.rounds} rounds of its own: "
                f"{percent(one.ratio)} % ({interval(one.low, one.high)}), {_word(one, found)}."
            )
    lines.append(f"The least set is {found.verdict}." if found.concluded else _open(found))
    return lines


def _word(one: Against, found: Screened) -> str:
    bound = found.ask.same_within_percent
    return f"{one.verdict} within {bound:g} %" if one.verdict == "the same" else one.verdict


def _open(found: Screened) -> str:
    if found.verdict == "cannot tell":
        return (
            "No conclusion on the least set: take more --confirm-rounds, or a wider --same-within."
        )
    return (
        "The least set does not give the whole gain: an effect is too small for these rounds, or "
        "knobs act only together; take more --rounds, or --design full."
    )


def as_json(found: Screened) -> dict:
    """The screen as JSON values."""
    ask, plan = found.ask, found.design
    return {
        "netlab_screen": 1,
        "study": ask.study.name,
        "tuning": ask.tuning,
        "group": ask.group.name,
        "design": plan.kind,
        "rows": {name: list(chosen) for name, chosen in plan.rows.items()},
        "runs": found.runs,
        "valid_runs": found.valid_runs,
        "campaigns": {"effects": EFFECTS, "confirmation": CONFIRM},
        "same_within_percent": ask.same_within_percent,
        "effects": found.effects.to_dict("records"),
        "unsupported": list(found.probed.unsupported),
        "unchanged": list(found.probed.unchanged),
        "refused_rows": found.refused,
        "least_set": list(found.least),
        "confirmations": [asdict(one) for one in found.tries],
        "verdict": found.verdict,
    }


def least_tuning(found: Screened, name: str) -> Tuning:
    """The least set as a tuning, each knob with its source."""
    ask = found.ask
    whole = found.tries[-1].whole
    note = (
        f"Screened on {ask.group.path}: {percent(whole.ratio)} % against all of {ask.tuning} "
        f"({interval(whole.low, whole.high)}), {found.verdict}."
    )
    return Tuning(
        name=name,
        title=f"Least set of {ask.tuning}",
        source=f"netlab screen {ask.study.name} --tuning {ask.tuning}",
        notes=(note,),
        knobs=tuple(ask.items[knob] for knob in found.least),
    )


def write_least(found: Screened, path: Path) -> Path:
    """Write the least set as a tuning file named for its path, and read it back.

    Raises
    ------
    BadInput
        The name of the file is not that of a tuning.
    """
    tuning = least_tuning(found, path.stem)
    content = tuning.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    write_text(path, yaml_text({**content, "knobs": content.get("knobs", [])}))
    read_tuning(path)
    return path


def write_document(found: Screened, path: Path) -> Path:
    """Write the JSON of a screen."""
    return write_json(path, as_json(found))


def _plain(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, justify="left")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH)
