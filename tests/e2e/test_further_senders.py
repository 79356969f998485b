"""Several hosts that send to one over a link of a lab: what each has of it, and what it records."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from e2e.conftest import EARLY_US, NETLAB, run_netlab
from studies import ANY_NOISE
from waiting import until

import netlab
from netlab.lab.lab import Lab
from netlab.results.store import Store
from netlab.study import load

LINK_MBPS, PACE_MBps = 20, 0.25
LATE = 1.5
"""Late reads at the window's begin show more than a link carried."""

WMEM, RMEM = "net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem"
LARGE, SMALL = "4096 16384 4194304", "4096 16384 16384"
"""Send buffers that the tuning of the hosts allows, and that of a further sender."""

SHORT_MS, LONG_MS, WINDOW_B = 10, 50, 60_000


def study_of(folder, *groups: str):
    """One sender, two, three of which two are paced; three whose buffers their hosts limit."""
    knobs = [{"kind": "sysctl", "name": WMEM, "value": LARGE}]
    group = {"path": "narrow", "sender": "a"}
    ends = {"ends": [{"host": "a"}, {"host": "b"}], "also": [{"host": "c"}, {"host": "d"}]}
    narrow = {"rtt_ms": 10, "rate_Mbps": LINK_MBPS, "queue_packets": 50}
    wide = {"rtt_ms": 40, "rate_Mbps": 200, "queue_B": 1_000_000}
    windows = {"path": "wide", "tunings": ["tuned"], "streams": [3]}
    trips = [{"rtt_ms": SHORT_MS}, {"from": "c", "rtt_ms": LONG_MS}]
    paced = [{"pacing_MBps": 2 * PACE_MBps}, {"from": "c"}, {"from": "d", "pacing_MBps": PACE_MBps}]
    content = {
        **{"netlab": 1, "name": "incast", "title": "Several senders"},
        "hosts": {
            **{name: {"kind": "lab"} for name in "abd"},
            "c": {"kind": "lab", "profiles": {"tuned": "small"}},
        },
        "profiles": {
            "small": {"knobs": [{"kind": "sysctl", "name": WMEM, "value": SMALL}]},
        },
        "paths": {
            "narrow": {**ends, "link": {"emulator": narrow}},
            "wide": {**ends, "link": {"emulator": wide}},
        },
        "groups": [
            {**group, "name": "alone", "streams": [1], "tunings": ["plain"]},
            {
                **{**group, "name": "two", "streams": [2, 6], "tunings": ["plain"]},
                "flows": [{}, {"from": "c"}],
            },
            {**group, "name": "paced", "streams": [3], "tunings": ["plain"], "flows": paced},
            {
                **{**group, **windows, "name": "windows"},
                "flows": [{}, {"from": "c"}, {"from": "d"}],
            },
            {
                **{**group, "name": "trips", "path": "wide", "streams": [2], "flows": trips},
                **{"tunings": ["plain"], "buffer_B": WINDOW_B},
            },
        ],
        "tunings": [
            {"name": "plain", "mtus_B": [1500], "knobs": []},
            {"name": "tuned", "mtus_B": [1400], "knobs": knobs},
        ],
        **{"streams": [1, 2, 3, 6], "congestion": "reno", "trace": True, "noise": ANY_NOISE},
        "timing": {"rounds": 1, "seconds": 3, "warmup_s": 1, "drain_s": 60},
    }
    if groups:
        content["groups"] = [one for one in content["groups"] if one["name"] in groups]
    file = folder / "study.yml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("incast")
    file = study_of(folder)
    run_netlab("run", str(file), "--results", str(folder / "r"), timeout_s=240)
    return netlab.Results(folder / "r"), Store(folder / "r")


@pytest.fixture
def results(measured):
    return measured[0]


@pytest.fixture
def hosts(results):
    """Goodput of each stream of a group, MB/s, by the host that sends it."""
    frame = results.tables.stream_shares().data
    frame = frame.assign(host=frame["control"].str.rpartition("from_")[2])
    return frame.set_index(["group", "streams", "host"])["goodput_MBps"].sort_index()


def test_a_paced_sender_leaves_the_rest_to_the_others(hosts):
    of = hosts["paced", 3]
    assert 0 < of["a"] < LATE * 2 * PACE_MBps and 0 < of["d"] < LATE * PACE_MBps
    # what two paced ones leave: 1.64 MB/s of 2.39
    assert of["c"] > of["a"] > of["d"]
    assert of.sum() < LATE * LINK_MBPS / 8


def test_all_senders_share_the_rate_of_the_link(results, hosts):
    rows = results.runs[results.runs["path"] == "narrow"]
    assert (rows["goodput_MBps"] < LATE * LINK_MBPS / 8).all()
    assert rows["link_MBps"].to_list() == pytest.approx([LINK_MBPS / 8] * 4)
    assert (hosts["two"] > 0).all() and list(hosts["two", 6].groupby("host").size()) == [3, 3]
    assert (rows["path_queue_drops"] > 0).any()


def test_each_host_has_its_own_tuning_and_its_window_by_it(results, hosts):
    row = results.runs.set_index("group").loc["windows"]
    knobs = json.loads(row["knobs"])
    found = {host: " ".join(of[WMEM].split()) for host, of in knobs.items()}
    assert found == {"a": LARGE, "b": LARGE, "c": SMALL, "d": LARGE}
    assert all(of["mtu"] == "1400" for of in knobs.values())
    of = hosts["windows", 3]
    # 64 kB in 40 ms or more, of 25 MB/s that the others share
    assert 0 < of["c"] < max(of["a"], of["d"]) / 2
    assert of.sum() < LATE * 25


def test_hosts_with_a_fixed_window_share_as_their_round_trips(measured, hosts):
    """No segment is answered before the round trip of its host."""
    of = hosts["trips", 2]
    # five to one on processors of their own; waits for others' lengthen both alike
    assert of["a"] > of["c"]
    traces = measured[1].rows("traces")
    own = traces[traces["run_id"].str.contains("@trips@") & (traces["rtt_us"] > 0)]
    least_us = own.groupby("stream")["rtt_us"].min()
    assert least_us[0] > 1000 * SHORT_MS - EARLY_US and least_us[1] > 1000 * LONG_MS - EARLY_US


def test_shares_are_by_host_and_have_an_index(results):
    shares = results.tables.shares().data
    sums = shares.groupby(["group", "streams"])["share_percent"].sum()
    assert sums.to_list() == pytest.approx([100] * 5)
    index = results.tables.jain_index().data.set_index(["group", "streams"])["jain_index"]
    assert 0.5 < index["two", 2] <= 1 and 1 / 3 < index["paced", 3] < 0.9


def test_every_ledger_closes_and_no_sender_is_foreign(measured):
    results, store = measured
    runs = results.runs
    assert len(runs) == 6 and (runs["ledger_error_B"] == 0).all()
    assert not runs["flags"].str.contains("failed|ledger|drift").any()
    assert (runs["foreign_traffic_percent"] == 0).all()
    traced = store.rows("traces").groupby("run_id")["stream"].unique()
    assert sorted(map(len, traced)) == [1, 2, 2, 3, 3, 6]
    for row in runs.itertuples():
        assert {*json.loads(row.provenance)["hosts"]} == {*"abcd"}


def test_a_check_reaches_every_host_and_a_report_names_them(measured, tmp_path):
    results, _ = measured
    file, site = str(study_of(tmp_path)), tmp_path / "site"
    done = run_netlab("check", file, timeout_s=240)
    for host in "abcd":
        assert f"ok    {host}: may be tuned" in done.stdout
    assert "all hosts are one machine" in done.stdout
    where = ("--results", str(results.directory), "--site", str(site))
    run_netlab("report", file, *where, timeout_s=240)
    assert any("Reno from c" in page.read_text() for page in site.rglob("shares.html"))


@pytest.mark.parametrize(("ends", "seconds"), [("well", 5), ("killed", 120)])
def test_each_host_is_reverted(tmp_path, ends, seconds):
    """Of a lab that stays: settings of all four hosts are those before, also after a kill."""
    file = study_of(tmp_path, "windows")
    with Lab.up(load(file)) as lab:

        def settings() -> dict[str, str]:
            argv = ("sh", "-c", f"sysctl -n {WMEM}; ip -o link show | grep -o 'data.* mtu [0-9]*'")
            return {
                host: subprocess.run(
                    lab.inside(host, argv), capture_output=True, text=True, check=True
                ).stdout
                for host in lab.hosts
            }

        before = settings()
        argv = (
            *NETLAB,
            "run",
            str(file),
            "--results",
            str(tmp_path / "r"),
            "--seconds",
            str(seconds),
        )
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(argv, start_new_session=True, **pipes) as process:
            until(lambda: all("mtu 1400" in text for text in settings().values()), 120)
            if ends == "killed":
                os.killpg(process.pid, signal.SIGKILL)
        until(lambda: settings() == before)
        assert all(not agents(lab, host) for host in lab.hosts)


def agents(lab: Lab, host: str) -> list[str]:
    """Agents on a host; a mount of /proc has those of all."""
    pids = subprocess.run(
        ("ip", "netns", "pids", lab.namespace(host)), capture_output=True, text=True, check=True
    ).stdout.split()
    texts = (Path(f"/proc/{pid}/cmdline") for pid in pids)
    found = (text.read_text().split("\0") for text in texts if text.exists())
    return [" ".join(words) for words in found if words[1:2] == ["agent"]]
