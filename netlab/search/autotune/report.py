"""Output of a search: a conclusion, a table, a JSON document, and the winner as study keys."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from netlab import core
from netlab.errors import BadInput
from netlab.files.frame_text import frame_text
from netlab.files.writing import write_text
from netlab.files.yaml_file import read_yaml, validated, yaml_text
from netlab.results.flags import split_flags
from netlab.search.autotune.candidates import ENGINE_WORDS, named
from netlab.search.autotune.race import MIN_ROUNDS, Gap
from netlab.search.autotune.request import Objective, objective
from netlab.search.autotune.run import Tuned
from netlab.search.autotune.search import (
    BETTER,
    DISTURBED,
    LAST_RACE,
    NO_CONCLUSION,
    NO_START,
    ArmResult,
    RaceResult,
)
from netlab.study import Study
from netlab.units import plain
from netlab.version import version

SCHEMA = 1
COLUMNS = (
    *("stage", "factor", "candidate", "rounds", "figure"),
    *("worse_percent", "low_percent", "high_percent", "dropped_after", "fate"),
)


def conclusion(tuned: Tuned) -> str:
    outcome, aim = tuned.outcome, objective(tuned.ask.aim)
    winner, gain = outcome.winner.label(), outcome.gain
    if outcome.verdict == BETTER and gain is not None:
        parts = [f"best for {aim.name}: {winner}", f"{outcome.verdict}: {gained(aim, gain)}"]
    elif outcome.verdict == NO_START:
        parts = [f"best for {aim.name}: {winner}", outcome.verdict]
    elif outcome.verdict == NO_CONCLUSION:
        parts = [f"{outcome.verdict}, so what you had stays: {winner}"]
    else:
        parts = [f"{outcome.verdict}: {winner}"]
        if gain is not None and gain.against != outcome.winner:
            compared = f"{gain.against.label()}: {gained(aim, gain)}"
            parts.append(f"{compared}, not distinguishable from zero")
    valid = sum(sample["counted"] for sample in outcome.samples)
    parts.append(f"{valid} of {len(outcome.samples)} runs valid")
    disturbed = sum(not DISTURBED.isdisjoint(split_flags(s["flags"])) for s in outcome.samples)
    if outcome.verdict == NO_CONCLUSION and disturbed and not tuned.ask.noisy:
        parts.append(f"{disturbed} were disturbed by other work, which --noisy would count")
    if outcome.winner.discards:
        parts.append(
            "it does not copy every byte in and out, which is less work than in a program that "
            "needs the bytes"
        )
    if tuned.ask.noisy:
        parts.append("disturbed runs count")
    return "; ".join(parts)


def gained(aim: Objective, gap: Gap) -> str:
    """A gap of the current settings as a gain in per cent, with its interval."""
    mean, *ends = map(aim.change_percent, (gap.mean, gap.low, gap.high))
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
    candidate, gap, lags = arm.candidate, arm.gap, (math.nan,) * 3
    if gap is not None:
        bounds = (gap.low, gap.high) if gap.rounds >= MIN_ROUNDS else (math.nan, math.nan)
        lags = (gap.mean, *bounds)
    fate = "chosen" if candidate == stage.winner else "left"
    if arm.reason:
        fate = f"failed: {arm.reason}"
    elif arm.dropped_after is not None:
        fate = f"out after {arm.dropped_after} rounds"
    if last and candidate == tuned.start:
        fate += ", what you had"
    return {
        "stage": stage.number,
        "factor": stage.factor,
        "candidate": named(stage.factor, candidate),
        "rounds": arm.rounds,
        "figure": math.nan if arm.score is None else aim.value(arm.score),
        **dict(zip(COLUMNS[5:8], map(aim.lag_percent, lags), strict=True)),
        "dropped_after": arm.dropped_after,
        "fate": fate,
    }


def to_text(tuned: Tuned) -> str:
    frame, text = table(tuned), "no race was run"
    if len(frame):
        frame["fate"] = [textwrap.shorten(fate, 60, placeholder=" …") for fate in frame["fate"]]
        heads = dict(zip(COLUMNS[5:8], ("worse %", "from", "to"), strict=True))
        heads["figure"] = objective(tuned.ask.aim).unit
        short = frame.drop(columns=["dropped_after"]).rename(columns=heads)
        text = frame_text(short, number=lambda value: plain(value, ".4g"), missing="-")
    return f"{text}\n\n{conclusion(tuned)}"


def as_json(tuned: Tuned) -> dict:
    """The search and every run; gaps are in log units, and an infinite bound becomes null."""
    ask = tuned.ask
    asked = ("path", "aim", "seconds", "tuning", "engines", "noisy")

    def without_absent(pairs: list[tuple[str, object]]) -> dict:
        return {key: value for key, value in pairs if (key, value) != ("receive_buffer_B", None)}

    return {
        "netlab_autotune": SCHEMA,
        "started_at": tuned.started_at,
        "netlab": version(),
        "agent": core.source_digest(),
        "study": {"name": ask.study.name, "digest": ask.study.digest()},
        "asked": {**{name: getattr(ask, name) for name in asked}, "seed": ask.own_seed},
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
        "conclusion": conclusion(tuned),
        "start": tuned.start.as_dict(),
        **asdict(tuned.outcome, dict_factory=without_absent),
    }


WIDTH = 96


def fragment_text(tuned: Tuned, samples_file: str) -> str:
    ask = tuned.ask
    comments = [
        f"netlab {version()} autotune, {tuned.started_at}, agent {core.source_digest()}",
        f"study {ask.study.name}, digest {ask.study.digest()}",
        conclusion(tuned),
        f"what you had: {tuned.start.label()}",
        f"path {ask.path}, MTU {tuned.mtu_B}, tuning {ask.tuning or 'as found'}, "
        f"{ask.study.congestion_of(ask.group)}; runs of {tuned.timing.seconds:.2g} s; "
        f"seed {ask.own_seed}; {tuned.used_s:.0f} of {ask.seconds:g} s used",
    ]
    for name, facts in tuned.hosts.items():
        cpu = f"{facts['cpus']} x {facts['cpu_model']}"
        comments.append(f"host {name}: Linux {facts['kernel']}, {cpu}")
    comments.append(f"every run: {samples_file}")
    lines = [line for text in comments for line in textwrap.wrap(text, WIDTH)]
    return "".join(f"# {line}\n" for line in lines) + yaml_text(_keys(tuned))


def _keys(tuned: Tuned) -> dict:
    group, winner = tuned.ask.group, tuned.outcome.winner
    entry = {name: getattr(group, name) for name in ("name", "path", "sender", "direction")}
    entry |= {"record_length_B": winner.record_length_B, "buffer_B": winner.buffer_B}
    entry["streams"] = [winner.streams]
    if group.receive_buffer_B is not None:
        entry["receive_buffer_B"] = winner.receive_buffer_B
    for name in ("records", "quick_records"):
        records = getattr(group, name)
        if records is not None:  # the same number of bytes in records of another length
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
    own_groups = keys.pop("groups", [])
    if not isinstance(own_groups, list) or not all(isinstance(one, dict) for one in own_groups):
        text = "must be a list of mappings"
        raise BadInput(text, where=where, key="groups", code="E-AUTOTUNE-007")
    had, new = list(content["streams"]), keys.get("streams")
    if isinstance(new, list):
        keys["streams"] = had + [n for n in new if type(n) is not int or n not in had]
        for group in groups.values():
            group["streams"] = group["streams"] or had
    for group in own_groups:
        name = group.get("name")
        groups[name] = {**groups.get(name, {}), **group}
    return validated(Study, {**content, **keys, "groups": list(groups.values())}, where)
