"""A screen on a real lab path: the knobs that matter there are found, their set is a tuning."""

from __future__ import annotations

import json

import pytest
import yaml
from e2e.conftest import run_netlab
from lab_study import lab_study

from netlab.lab.lab import Lab
from netlab.lab.namespaces import inside, tool
from netlab.results import campaign_files
from netlab.results.store import Store
from netlab.study import load
from netlab.tuning.profiles import read_tuning

pytestmark = pytest.mark.timeout(600)

EMULATOR = {"with": "netlab", "rtt_ms": 10.0, "rate_Mbps": 200.0, "queue_packets": 400}
LARGE = "4096 131072 4194304"
SMALL = {"net.ipv4.tcp_rmem": "4096 16384 32768", "net.ipv4.tcp_wmem": "4096 8192 8192"}
BUFFERS = list(SMALL)
HARMLESS = {"net.ipv4.tcp_slow_start_after_idle": "0", "net.ipv4.tcp_retries2": "8"}
UNLIMITED = {"steal_percent": 100.0, "foreign_cpu_percent": 100.0, "retries": 0}


def content() -> dict:
    """A path of 10 ms whose hosts have small socket buffers: both ends limit it."""
    ends = [{"host": "a"}, {"host": "b"}]
    paths = {"long": {"ends": ends, "link": {"emulator": EMULATOR}}}
    study = lab_study(paths=paths, name="screened").model_dump(mode="json")
    study["groups"][0]["buffer_B"] = 0
    sysctls = {**dict.fromkeys(BUFFERS, LARGE), **HARMLESS}
    knobs = [{"kind": "sysctl", "name": name, "value": value} for name, value in sysctls.items()]
    knobs.append({"kind": "ring", "name": "rx", "value": "4096"})
    knobs.append({"kind": "txqueuelen", "value": "1000"})
    return study | {
        "tunings": [{"name": "mine", "mtus_B": [1500], "knobs": knobs}],
        "timing": {"rounds": 2, "seconds": 0.3, "warmup_s": 0.2, "interval_ms": 50},
        "noise": UNLIMITED,
    }


@pytest.fixture(scope="module")
def screened(awake, tmp_path_factory):
    """The screen, made once: output, directory of results, study."""
    place = tmp_path_factory.mktemp("screen")
    file = place / "screened.yml"
    file.write_text(yaml.safe_dump(content()))
    study = load(file)
    results = place / "results"
    with Lab.up(study) as lab:
        for host in study.hosts:
            for name, value in SMALL.items():
                setting = inside(lab.namespace(host), ("sysctl", "-w", f"{name}={value}"))
                tool(setting)
        done = run_netlab(
            *("screen", str(file), "--tuning", "mine", "--design", "folded"),
            *("--same-within", "25", "--confirm-rounds", "8", "--results", str(results)),
            timeout_s=300,
        )
    return done, results


def document(screened) -> dict:
    done, results = screened
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((results / "screen.json").read_text())


def test_the_two_buffers_are_found_and_no_other_knob_has_an_effect_of_their_size(screened):
    """One screen in 20 may find a false effect; its size is that of the noise."""
    found = document(screened)
    words = {one["knob"]: one for one in found["effects"] if not one["with_knob"]}
    assert set(words) == {*BUFFERS, *HARMLESS}
    for knob in BUFFERS:
        assert words[knob]["verdict"] == "faster" and words[knob]["ratio"] > 1.5
    for knob in HARMLESS:
        assert 0.75 < words[knob]["ratio"] < 1.33
    assert found["least_set"][:2] == BUFFERS
    pairs = {frozenset((one["knob"], one["with_knob"])): one for one in found["effects"]}
    assert pairs[frozenset(BUFFERS)]["verdict"] == "faster", "each helps only beside the other"


def test_the_least_set_is_confirmed_by_runs_of_its_own(screened):
    found = document(screened)
    whole, none = found["confirmations"][-1]["against"]
    assert whole["other"] == "full-tuning" and whole["verdict"] in ("the same", "faster")
    assert none["other"] == "no-knob" and none["low"] > 2
    assert found["verdict"] in screened[0].stdout


def test_knobs_that_no_host_has_or_needs_are_listed(screened):
    found, output = document(screened), screened[0].stdout
    assert {(one["host"], one["knob"]) for one in found["unsupported"]} == {
        ("a", "ring rx"),
        ("b", "ring rx"),
    }
    assert {one["knob"] for one in found["unchanged"]} == {"txqueuelen"}
    assert "no ring sizes" in output and "is 1000 already" in output


def test_the_least_set_is_a_tuning_with_its_sources(screened):
    document(screened)
    tuning = read_tuning(screened[1] / "mine-least.yml")
    assert [knob.name for knob in tuning.knobs] == document(screened)["least_set"]
    assert [knob.value for knob in tuning.knobs[:2]] == [LARGE, LARGE]
    assert all(knob.source for knob in tuning.knobs)


def test_every_run_is_in_a_store_and_the_chart_is_drawn(screened):
    found = document(screened)
    store = Store(screened[1] / "effects")
    assert len(store.runs()) == found["runs"] == 2 * len(found["rows"]) == 16
    assert len(campaign_files.ids(screened[1] / "effects")) == 1
    assert "tcp_rmem" in (screened[1] / "effects.svg").read_text()
