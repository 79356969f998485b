"""A whole study through the command: measured, resumed, reported, and the machine untouched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netlab.results.store import Store
from tests.e2e import dumps
from tests.e2e.conftest import (
    below_gate,
    measured_through,
    run_netlab,
    small_file,
    untouched,
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> tuple[Path, Path]:
    """The file of the small study, and its results; the machine is as before."""
    place = tmp_path_factory.mktemp("measured")
    study, results = small_file(place), place / "results"
    with untouched():
        measured_through(run_netlab("run", str(study), "--results", str(results)))
    return study, results


def test_a_study_is_measured_then_kept_then_reported(measured, tmp_path: Path, machine_untouched):
    """The second call repeats no run; the report shows every cell; the ledger closes."""
    study_file, results = measured
    runs = Store(results).runs()
    assert len(runs) == 8
    assert runs["run_id"].is_unique
    measured = runs[~runs["flags"].str.contains("failed|lost_host")]
    assert len(measured) == 8, runs[["run_id", "flags", "message"]].to_string()
    assert (runs["ledger_error_B"] == 0).all()
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert (runs["interval_sum_B"] == runs["received_B"]).all()
    assert (runs["goodput_MBps"] > 10).all()

    valid = int((runs["flags"] == "").sum())
    again = run_netlab("run", str(study_file), "--results", str(results))
    measured_through(again)
    assert f"{valid} kept from before" in again.stderr
    kept = Store(results).runs().set_index("run_id")["started_at"]
    before = runs[runs["flags"] == ""].set_index("run_id")["started_at"]
    assert (kept.loc[before.index] == before).all()

    site = tmp_path / "site"
    report = run_netlab(
        "report", str(study_file), "--results", str(results), "--site", str(site), timeout_s=240
    )
    assert report.returncode == 0 or below_gate(report), report.stderr
    assert report.stdout.strip().endswith("site/index.html")
    page = (site / "index.html").read_text()
    assert "A small study" in page
    assert "left -&gt; right" in (site / "tables.html").read_text()


def test_every_run_records_knobs_unsupported_and_provenance(measured):
    """A run tells what was set, what the host does not have, and what measured it."""
    _, results = measured
    for row in Store(results).runs().itertuples():
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


def test_check_looks_at_everything_and_changes_nothing(study_file: Path, machine_untouched):
    """Preflight reaches the hosts, probes each MTU and passes."""
    done = run_netlab("check", str(study_file))
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("left", "right", "MTU 1500", "MTU 9000", "open files", "space"):
        assert word in done.stdout


def test_tune_plan_shows_a_diff_and_changes_nothing(study_file: Path, machine_untouched):
    """The plan names old and new values and what is unsupported."""
    done = run_netlab("tune", "plan", str(study_file), "--tuning", "openlab-2003-full")
    assert done.returncode == 0, done.stderr
    assert "- " in done.stdout and "+ " in done.stdout
    assert "net.ipv4.tcp_sack" in done.stdout
    assert "tcp_tw_recycle" in done.stdout


def test_tune_recover_says_of_every_host_that_nothing_is_left(study_file: Path, machine_untouched):
    """On hosts without leftovers `tune recover` reports that there is nothing to recover."""
    done = run_netlab("tune", "recover", str(study_file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["left: nothing to recover", "right: nothing to recover"]


def test_lab_up_status_down_leaves_no_trace(study_file: Path):
    """`lab status` lists the parts that `lab up` creates, and `lab down` removes them."""
    before, names = dumps.dump(), dumps.made()
    try:
        up = run_netlab("lab", "up", str(study_file))
        assert up.returncode == 0, up.stderr
        status = run_netlab("lab", "status")
        assert "host left: up" in status.stdout
        assert "path cable" in status.stdout
        name = run_netlab("lab", "shell", "right", "--", "cat", "/sys/class/net/data0/mtu")
        assert name.stdout.strip() == "1500"
    finally:
        down = run_netlab("lab", "down")
    assert down.returncode == 0
    assert dumps.difference(before, dumps.dump()) == {}
    assert dumps.made() <= names, "`lab down` may remove what a killed run left, and leaves nothing"
