"""A study with stacks of its own: its runs use and name them, and they are gone after it."""

from __future__ import annotations

import time
from pathlib import Path

import yaml

from netlab.results.store import Store
from tests.e2e.conftest import measured_through, run_netlab, small_study

LISTS = ("available", "allowed")
GROUPS = {
    "scalable": ("->", "bpf scalable 1 (netlab "),
    "highspeed": ("<->", "bpf highspeed 1 (netlab "),
    "wad+cubic": ("->", "bpf aimd 1 (netlab "),
    "reno": ("->", "kernel reno (Linux "),
}


def lists() -> dict[str, list[str]]:
    """The congestion controls of the machine, and those that any user may choose."""
    read = {
        name: Path(f"/proc/sys/net/ipv4/tcp_{name}_congestion_control").read_text().split()
        for name in LISTS
    }
    return read


def study_with_stacks(name: str) -> dict:
    content = small_study(name)
    content["groups"] = [
        {
            "name": f"{congestion} {direction}",
            "path": "cable",
            "sender": "left",
            "direction": direction,
            "congestion": congestion,
        }
        for congestion, (direction, _) in GROUPS.items()
    ]
    content["stacks"] = {
        "wad": {"law": "aimd", "increase": 6, "decrease": 0.3, "max_ssthresh_segments": 100}
    }
    content["tunings"] = [{"name": "openlab-2003-normal", "mtus_B": [1500]}]
    content["streams"] = [2]
    content["trace"] = True
    return content


def written(path: Path, content: dict) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def test_every_run_names_what_its_senders_kernel_was_given(tmp_path, machine_untouched):
    before = lists()
    path = written(tmp_path / "stacks.yml", study_with_stacks("stacks"))
    done = run_netlab("run", str(path), "--results", str(tmp_path / "results"))
    measured_through(done)
    runs = Store(tmp_path / "results").runs().set_index("congestion")
    assert set(runs.index) == set(GROUPS)
    for congestion, (_, begin) in GROUPS.items():
        source = runs.loc[congestion, "congestion_source"]
        assert source.startswith(begin), source
        assert "/" not in source, "both ends used the same"
        assert runs.loc[congestion, "goodput_MBps"] > 1
    mixed = runs.loc["wad+cubic", "congestion_source"]
    assert "increase_millionths 6000000, decrease_millionths 300000" in mixed
    assert " + kernel cubic (Linux " in mixed
    traces = Store(tmp_path / "results").rows("traces")
    assert set(traces["run_id"]) == set(runs["run_id"])
    wait_for(lambda: lists() == before, 20)


def test_the_check_before_a_study_says_which_stacks_there_are(tmp_path, machine_untouched):
    before = lists()
    content = study_with_stacks("stacks-checked")
    done = run_netlab("check", str(written(tmp_path / "checked.yml", content)))
    assert done.returncode == 0, done.stdout
    assert "ok    left: congestion control cubic: kernel cubic (Linux " in done.stdout
    assert "wad: bpf aimd 1 (netlab " in done.stdout
    content["groups"][0]["congestion"] = "vegas"
    done = run_netlab("check", str(written(tmp_path / "checked.yml", content)))
    assert done.returncode != 0
    assert "fail  left: no congestion control 'vegas' in its kernel" in done.stdout
    wait_for(lambda: lists() == before, 20)


def wait_for(condition, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, lists()
        time.sleep(0.02)
