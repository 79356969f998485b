"""The commands of the guide that need hosts, in their order, from an empty directory: a study is
measured, resumed, reported, bundled and measured again, and the machine is untouched."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import guide
import pandas as pd
import pytest
from e2e.conftest import below_gate, measured_through, untouched
from studies import ANY_NOISE

from netlab.results.store import Store

pytestmark = pytest.mark.timeout(900)
COMMANDS = guide.commands("guide.md", "lab")
ELSEWHERE = {"netlab check mine.yml", "netlab study mine.yml", "netlab verify first.zip"}
"""The first two need hosts of one's own, see test_ssh_hosts.py; for the third test_bundle.py."""
SMALLER = (
    ("streams: [1, 4]", "streams: [4]"),
    ("seconds: 0.5}", "seconds: 0.2, warmup_s: 0.1, interval_ms: 20}"),
    ("{kind: ssh, address: left.example.org}", "{kind: lab}"),
    ("{kind: ssh, address: right.example.org}", "{kind: lab}"),
    ("{host: left, address: 192.0.2.1, interface: eth2}", "{host: left}"),
    ("{host: right, address: 192.0.2.2, interface: eth2}", "{host: right}"),
)
"""Hosts of the lab stand for one's own; the commands are what is tested."""


@dataclass(frozen=True)
class Guided:
    """A directory in which the commands ran, what each printed, and the runs after the first."""

    place: Path
    done: dict[str, subprocess.CompletedProcess]
    first: pd.DataFrame


@pytest.fixture(scope="module")
def guided(tmp_path_factory) -> Iterator[Guided]:
    place, done, first = tmp_path_factory.mktemp("guided"), {}, pd.DataFrame()
    for name, text in guide.files("guide.md").items():
        for old, new in SMALLER:
            text = text.replace(old, new)
        assert "ssh" not in text and "0.2, warmup_s" in text
        (place / name).write_text(f"{text}noise: {ANY_NOISE}\n")
    with untouched():
        for command in COMMANDS:
            if command in ELSEWHERE:
                continue
            done[command] = guide.run(command, place)
            if command.split()[1] in ("study", "run", "rerun"):
                measured_through(done[command])
            else:
                assert done[command].returncode == 0 or below_gate(done[command]), done[command]
            if command == "netlab study first.yml":
                first = Store(place / "results" / "first").runs()
    yield Guided(place, done, first)


def test_every_run_closes_its_ledger_and_records_knobs_and_provenance(guided):
    """A run tells what was set, what the host does not have, and what measured it."""
    runs = guided.first
    assert len(runs) == 2 * 2 * 3 and runs["run_id"].is_unique
    assert not runs["flags"].str.contains("failed|lost_host").any(), runs["message"].tolist()
    assert (runs["ledger_error_B"] == 0).all()
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert (runs["interval_sum_B"] == runs["received_B"]).all()
    assert (runs["goodput_MBps"] > 0).all() and runs["goodput_MBps"].median() > 10
    for row in runs.itertuples():
        unsupported = {(line["host"], line["knob"]) for line in json.loads(row.unsupported)}
        assert any("tcp_tw_recycle" in knob for _, knob in unsupported)
        assert any("rmem_max" in knob for _, knob in unsupported)
        knobs = json.loads(row.knobs)
        assert set(knobs) == {"left", "right"}
        assert any("tcp_sack" in knob for knob in knobs["left"])
        provenance = json.loads(row.provenance)
        assert provenance["hosts"]["left"]["kernel"]
        assert provenance["hosts"]["left"]["hostname"] == "left"
        assert len(provenance["agent"]) == 64
        clamp = 65535 if row.tuning == "openlab-2003-normal" else 524287
        assert row.buffer_clamp_sender_B == clamp


def test_more_rounds_repeat_no_valid_run(guided):
    valid = guided.first[guided.first["flags"] == ""].set_index("run_id")["started_at"]
    said = guided.done["netlab run first.yml --rounds 4"].stderr
    assert f"{len(valid)} kept from before" in said
    runs = Store(guided.place / "results" / "first").runs().set_index("run_id")
    assert len(runs) == 2 * 2 * 4
    assert (runs["started_at"].loc[valid.index] == valid).all()


def test_the_report_shows_every_cell(guided):
    site = guided.place / "site"
    assert guided.done["netlab report first.yml"].stdout.strip().endswith("site/index.html")
    assert "Two hosts of the lab" in (site / "index.html").read_text()
    assert "left -&gt; right" in (site / "tables.html").read_text()


def test_a_bundle_is_measured_again_and_compared(guided):
    again, before = (guided.place / "results" / f"first-rerun{end}" for end in ("", "-bundle"))
    said = guided.done["netlab rerun first.zip"].stdout.strip()
    assert said == f"netlab compare {before} {again}"
    new, old = Store(again).runs(), Store(before).runs()
    assert sorted(new["run_id"]) == sorted(old["run_id"]) and len(new) == 2 * 2 * 4
    assert set(new["study_digest"]) <= set(old["study_digest"])  # of 3 rounds and of 4
    assert not set(new["campaign"]) & set(old["campaign"])
    compared = guide.run(f"{said} --format json", guided.place)
    assert compared.returncode == 0 and json.loads(compared.stdout), compared.stderr


def test_the_check_and_the_plan_show_everything(guided):
    """The check reaches the hosts and probes each MTU; the plan has old and new values."""
    checked = guided.done["netlab check first.yml"].stdout
    for word in ("left", "right", "MTU 1500", "MTU 9000", "open files", "space"):
        assert word in checked
    planned = guided.done["netlab tune plan first.yml"].stdout
    assert "- " in planned and "+ " in planned
    assert "net.ipv4.tcp_sack" in planned and "tcp_tw_recycle" in planned
    recovered = guided.done["netlab tune recover mine.yml"].stdout
    assert recovered.splitlines() == ["left: nothing to recover", "right: nothing to recover"]
