"""The winner as YAML: keys of a study, with where they come from in comments."""

from __future__ import annotations

import textwrap
from pathlib import Path

import netlab
from netlab import core
from netlab.autotune.run import Tuned
from netlab.autotune.summary import conclusion
from netlab.errors import BadInput
from netlab.files.json_file import write_text
from netlab.files.yaml_file import read_yaml, validated, yaml_text
from netlab.study import Group, Study

WIDTH = 96


def fragment_text(tuned: Tuned, samples_file: str) -> str:
    """The winner as keys that a study takes.

    Parameters
    ----------
    tuned : Tuned
        What was found.
    samples_file : str
        Name of the JSON file with every run, for the comments.
    """
    keys = yaml_text(_keys(tuned))
    comments = [
        f"netlab {netlab.__version__} autotune, {tuned.started_at}, agent {core.source_digest()}",
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
    comments += [
        f"{name}: {word} (a study has no key for it yet)"
        for name, word in tuned.outcome.winner.words
        if name not in {**Study.model_fields, **Group.model_fields}
    ]
    lines = [line for text in comments for line in textwrap.wrap(text, WIDTH)]
    return "".join(f"# {line}\n" for line in lines) + keys


def seed(tuned: Tuned) -> int:
    """Of the order within rounds."""
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
        if records is not None:  # as many bytes as before, in records of another length
            amount_B = records * group.record_length_B
            entry[name] = max(1, round(amount_B / winner.record_length_B))
    keys: dict = {"groups": [entry], "streams": [winner.streams]}
    for name, word in winner.words:
        if name in Group.model_fields:
            entry[name] = word
        elif name in Study.model_fields:
            keys[name] = word
    return keys


def write_fragment(tuned: Tuned, path: Path, samples_file: str) -> Path:
    """Write the winner and read it back into the study.

    Raises
    ------
    BadInput
        The study does not take it.
    """
    write_text(path, fragment_text(tuned, samples_file))
    taken(tuned.ask.study, path)
    return path


def taken(study: Study, fragment: Path | str) -> Study:
    """A study with the keys of a fragment in place of its own.

    A group of the fragment changes the keys it names in the study's group of that name, or is
    added. Stream counts join the study's, and the groups that the fragment does not name keep
    those they had. Every other key replaces the study's.

    Parameters
    ----------
    study : Study
        The study.
    fragment : path-like
        The YAML file.

    Raises
    ------
    BadInput
        The file cannot be read, or the study would not be valid with it.
    """
    where = str(fragment)
    keys = read_yaml(fragment)
    content = study.model_dump(mode="python")
    groups = {group["name"]: group for group in content["groups"]}
    given = keys.pop("groups", [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadInput("holds mappings of a group's keys", where=where, key="groups")
    had, new = list(content["streams"]), keys.get("streams")
    if isinstance(new, list):
        keys["streams"] = had + [n for n in new if type(n) is not int or n not in had]
        for group in groups.values():
            group["streams"] = group["streams"] or had
    for group in given:
        name = group.get("name")
        groups[name] = {**groups.get(name, {}), **group}
    return validated(Study, {**content, **keys, "groups": list(groups.values())}, where)
