"""Output of a search: a conclusion, a table, a JSON document, and the winner as study keys."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from netlab import core
from netlab.autotune.request import ENGINE_WORDS, Objective, objective, shown
from netlab.autotune.run import Tuned
from netlab.autotune.search import (
    BETTER,
    DISTURBED,
    LAST_RACE,
    MIN_ROUNDS,
    NO_CONCLUSION,
    NO_START,
    ArmResult,
    Gap,
    RaceResult,
)
from netlab.errors import BadInput
from netlab.files.writing import write_text
from netlab.files.yaml_file import read_yaml, validated, yaml_text
from netlab.study import Study
from netlab.version import version

SCHEMA = 1
COLUMNS = (
    *("stage", "factor", "candidate", "rounds", "figure"),
    *("worse_percent", "low_percent", "high_percent", "dropped_after", "fate"),
)


def conclusion(tuned: Tuned) -> str:
    outcome, aim = tuned.outcome, objective(tuned.ask.aim)
    valid = sum(sample["counted"] for sample in outcome.samples)
    counts = f"{valid} of {len(outcome.samples)} runs valid"
    best = f"best for {aim.name}: {outcome.winner.label()}"
    if outcome.verdict == BETTER and outcome.gain is not None:
        text = f"{best}; {outcome.verdict}: {gained(aim, outcome.gain)}; {counts}"
    elif outcome.verdict == NO_START:
        text = f"{best}; {outcome.verdict}; {counts}"
    elif outcome.verdict == NO_CONCLUSION:
        text = f"{outcome.verdict}, so what you had stays: {outcome.winner.label()}; {counts}"
        disturbed = sum(not DISTURBED.isdisjoint(s["flags"].split(",")) for s in outcome.samples)
        if disturbed and not tuned.ask.noisy:
            text += f"; {disturbed} were disturbed by other work, which --noisy would count"
    else:
        nearest = ""
        if outcome.gain is not None and outcome.gain.against != outcome.winner:
            against = outcome.gain.against.label()
            gain = gained(aim, outcome.gain)
            nearest = f"; {against}: {gain}, not distinguishable from zero"
        text = f"{outcome.verdict}: {outcome.winner.label()}{nearest}; {counts}"
    if outcome.winner.discards:
        text += (
            "; it does not copy every byte in and out, which is less work than in a program that "
            "needs the bytes"
        )
    if tuned.ask.noisy:
        text += "; disturbed runs count"
    return text


def gained(aim: Objective, gap: Gap) -> str:
    mean, *ends = (aim.change_percent(score) for score in (gap.mean, gap.low, gap.high))
    low, high = sorted(ends)
    interval = (
        f"{gap.rounds} rounds" if gap.rounds < MIN_ROUNDS else f"{low:+.1f} % to {high:+.1f} %"
    )
    return f"{aim.label} {mean:+.1f} % ({interval})"


def table(tuned: Tuned) -> pd.DataFrame:
    rows = [_row(tuned, stage, arm) for stage in tuned.outcome.stages for arm in stage.arms]
    return pd.DataFrame.from_records(rows, columns=list(COLUMNS))


def _row(tuned: Tuned, stage: RaceResult, arm: ArmResult) -> dict:
    aim, last = objective(tuned.ask.aim), stage.factor == LAST_RACE
    gap = arm.gap
    lags = (math.nan,) * 3
    if gap is not None:
        bounds = (gap.low, gap.high) if gap.rounds >= MIN_ROUNDS else (math.nan, math.nan)
        lags = (gap.mean, *bounds)
    fate = "left"
    if arm.reason:
        fate = f"failed: {arm.reason}"
    elif arm.dropped_after is not None:
        fate = f"out after {arm.dropped_after} rounds"
    elif arm.candidate == stage.winner:
        fate = "chosen"
    if last and arm.candidate == tuned.start:
        fate += ", what you had"
    candidate = arm.candidate
    name = candidate.label() if last else shown(stage.factor, candidate.level(stage.factor))
    return {
        "stage": stage.number,
        "factor": stage.factor,
        "candidate": name,
        "rounds": arm.rounds,
        "figure": math.nan if arm.score is None else aim.value(arm.score),
        **dict(zip(COLUMNS[5:8], (aim.lag_percent(lag) for lag in lags), strict=True)),
        "dropped_after": arm.dropped_after,
        "fate": fate,
    }


def to_text(tuned: Tuned) -> str:
    aim = objective(tuned.ask.aim)
    frame = table(tuned)
    text = "no race was run"
    if len(frame):
        frame["fate"] = [textwrap.shorten(fate, 60, placeholder=" …") for fate in frame["fate"]]
        short = frame.drop(columns=["dropped_after"]).rename(
            columns={
                "figure": aim.unit,
                "worse_percent": "worse %",
                "low_percent": "from",
                "high_percent": "to",
            }
        )
        text = short.to_string(index=False, float_format=lambda v: f"{v:.4g}", na_rep="-")
    return f"{text}\n\n{conclusion(tuned)}"


def as_json(tuned: Tuned) -> dict:
    ask, outcome = tuned.ask, tuned.outcome
    asked = {
        name: getattr(ask, name)
        for name in ("path", "aim", "seconds", "tuning", "engines", "noisy")
    }
    return {
        "netlab_autotune": SCHEMA,
        "started_at": tuned.started_at,
        "netlab": version(),
        "agent": core.source_digest(),
        "study": {"name": ask.study.name, "digest": ask.study.digest()},
        "asked": {**asked, "seed": ask.study.seed if ask.seed is None else ask.seed},
        "group": ask.group.model_dump(mode="json"),
        "congestion": ask.study.congestion_of(ask.group),
        "mtu_B": tuned.mtu_B,
        "timing": tuned.timing.model_dump(mode="json"),
        "error": ask.error,
        "used_s": tuned.used_s,
        "hosts": tuned.hosts,
        "unsupported": tuned.unsupported,
        "levels": tuned.levels,
        "not_tried": tuned.refused,
        "verdict": outcome.verdict,
        "conclusion": conclusion(tuned),
        "start": tuned.start.as_dict(),
        "winner": outcome.winner.as_dict(),
        "gain": _gap(outcome.gain),
        "stages": [
            {
                "number": stage.number,
                "factor": stage.factor,
                "ended": stage.ended,
                "winner": stage.winner.as_dict() if stage.winner else None,
                "arms": [
                    {**asdict(arm), "candidate": arm.candidate.as_dict(), "gap": _gap(arm.gap)}
                    for arm in stage.arms
                ],
            }
            for stage in outcome.stages
        ],
        "samples": outcome.samples,
    }


def _gap(gap: Gap | None) -> dict | None:
    """A gap in log units; the file has null for an infinite bound."""
    if gap is None:
        return None
    return {**asdict(gap), "arm": gap.arm.as_dict(), "against": gap.against.as_dict()}


WIDTH = 96


def fragment_text(tuned: Tuned, samples_file: str) -> str:
    keys = yaml_text(_keys(tuned))
    comments = [
        f"netlab {version()} autotune, {tuned.started_at}, agent {core.source_digest()}",
        f"study {tuned.ask.study.name}, digest {tuned.ask.study.digest()}",
        conclusion(tuned),
        f"what you had: {tuned.start.label()}",
        f"path {tuned.ask.path}, MTU {tuned.mtu_B}, tuning {tuned.ask.tuning or 'as found'}, "
        f"{tuned.ask.study.congestion_of(tuned.ask.group)}; runs of {tuned.timing.seconds:.2g} s; "
        f"seed {seed(tuned)}; {tuned.used_s:.0f} of {tuned.ask.seconds:g} s used",
    ]
    for name, facts in tuned.hosts.items():
        cpu = f"{facts.get('cpus')} x {facts.get('cpu_model')}"
        comments.append(f"host {name}: Linux {facts.get('kernel')}, {cpu}")
    comments.append(f"every run: {samples_file}")
    lines = [line for text in comments for line in textwrap.wrap(text, WIDTH)]
    return "".join(f"# {line}\n" for line in lines) + keys


def seed(tuned: Tuned) -> int:
    return tuned.ask.study.seed if tuned.ask.seed is None else tuned.ask.seed


def _keys(tuned: Tuned) -> dict:
    group, winner = tuned.ask.group, tuned.outcome.winner
    entry = {
        "name": group.name,
        "path": group.path,
        "sender": group.sender,
        "direction": group.direction,
        "record_length_B": winner.record_length_B,
        "buffer_B": winner.buffer_B,
        "streams": [winner.streams],
    }
    if group.receive_buffer_B is not None:
        entry["receive_buffer_B"] = winner.receive_buffer_B
    for name in ("records", "quick_records"):
        records = getattr(group, name)
        if records is not None:  # The same number of bytes in records of another length.
            amount_B = records * group.record_length_B
            entry[name] = max(1, round(amount_B / winner.record_length_B))
    words = {name: winner.level(name) for name in ENGINE_WORDS}
    return {"groups": [entry], "streams": [winner.streams], **words}


def write_fragment(tuned: Tuned, path: Path, samples_file: str) -> Path:
    write_text(path, fragment_text(tuned, samples_file))
    taken(tuned.ask.study, path)
    return path


def taken(study: Study, fragment: Path | str) -> Study:
    """Merge a fragment into a study.

    A group of the fragment updates the study's group of that name, or is added. Stream counts are
    added to the study's; groups that the fragment does not name keep theirs. Every other key
    replaces the study's.
    """
    where = str(fragment)
    keys = read_yaml(fragment)
    content = study.model_dump(mode="python")
    groups = {group["name"]: group for group in content["groups"]}
    given = keys.pop("groups", [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadInput(
            "must be a list of mappings", where=where, key="groups", code="E-AUTOTUNE-007"
        )
    had, new = list(content["streams"]), keys.get("streams")
    if isinstance(new, list):
        keys["streams"] = had + [n for n in new if type(n) is not int or n not in had]
        for group in groups.values():
            group["streams"] = group["streams"] or had
    for group in given:
        name = group.get("name")
        groups[name] = {**groups.get(name, {}), **group}
    return validated(Study, {**content, **keys, "groups": list(groups.values())}, where)
