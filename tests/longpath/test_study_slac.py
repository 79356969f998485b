"""The wide-area study is what the page of 2003 says was configured."""

from __future__ import annotations

import pytest

from netlab.congestion import bdp_B
from netlab.files.paths import data_dir
from netlab.openlab import published
from netlab.study import Group, Study, load
from netlab.study.durations import measuring_s
from netlab.study.schedule import visits
from netlab.study.wad_conf import parse_wad
from netlab.tuning.profiles import Profile, load_profile

FILE = data_dir() / "studies" / "slac-2003.yml"
STACKS = {"Reno": "reno", "HighSpeed": "highspeed", "Scalable": "scalable", "FAST": "fast"}
SHORT_FORM_S = 8 * 60
RUN_OVERHEAD_S, BLOCK_OVERHEAD_S, DRAIN_S, SITE_S = 0.8, 9.0, 40.0, 60.0
"""Time of the short form besides measuring, on an idle machine of two cores, rounded up; one
configuration leaves a full buffer to a path that it has made slow."""


@pytest.fixture(scope="module")
def study() -> Study:
    return load(FILE)


def part(study: Study, name: str) -> list[Group]:
    return [group for group in study.groups if group.part == name]


def sender_of(study: Study, group: Group) -> Profile:
    return load_profile(study.profile("sunnyvale", study.levels(group)[0][0]))


def test_the_path_is_the_pages_with_a_queue_of_one_bandwidth_delay_product(study):
    page = published.load("slac-2003").iloc[0]
    whole = bdp_B(page["bottleneck_Mbps"], page["rtt_ms"])
    for name, share in (("wide-area", 1), ("shallow-queue", 4)):
        emulator = study.paths[name].link.emulator
        assert (emulator.rtt_ms, emulator.rate_Mbps) == (page["rtt_ms"], page["bottleneck_Mbps"])
        assert emulator.queue_B == round(whole / share)


def test_the_ten_configurations_are_the_pages_in_its_order(study):
    page = published.load("slac-2003").query("txqueuelen.notna()")
    page["window_B"] = page["wad_sndbuf_B"].fillna(page["sender_window_B"])
    page["receiver_window_B"] = page["receiver_window_B"].fillna(128 << 20)  # plot 10 names none
    groups = part(study, "configurations")
    assert len(groups) == 10
    for group, row in zip(groups, page.itertuples(), strict=True):
        assert group.name == row.place
        ((_, mtu_B, streams),) = study.levels(group)
        assert (mtu_B, streams) == (row.mtu_B, 1)
        assert group.congestion == STACKS[row.stack]
        profile = sender_of(study, group)
        assert profile.value_of("txqueuelen") == str(row.txqueuelen)
        settings = row.tcp_wmem if isinstance(row.tcp_wmem, str) else "4096 65536 67108864"
        assert profile.value_of("sysctl", "net.ipv4.tcp_wmem") == settings
        assert (group.buffer_B, group.receive_buffer_B) == (row.window_B, row.receiver_window_B)


def test_the_four_stacks_are_compared_as_the_summary_plots_were(study):
    page = published.load("slac-2003")
    page = page[page["place"].str.startswith("Summary")]
    found = set()
    (group,) = part(study, "comparison")
    for one in study.combinations(group):
        profile = load_profile(study.profile("sunnyvale", one.tuning))
        wmem = profile.value_of("sysctl", "net.ipv4.tcp_wmem")
        stack = dict(one.levels)["congestion"]
        found.add((stack, one.mtu_B, group.buffer_B, group.receive_buffer_B, wmem))
    assert found == {
        (STACKS[r.stack], r.mtu_B, r.sender_window_B, r.receiver_window_B, r.tcp_wmem)
        for r in page.itertuples()
    }


def test_the_transfer_is_rapids(study):
    rapid = published.load("slac-2003-rapid").set_index("quantity")["value"]
    (group,) = part(study, "transfer")
    assert group.records == rapid["records"]
    assert group.records * group.record_length_B == rapid["amount"]
    assert group.buffer_B == rapid["sender_buffer"]
    assert group.receive_buffer_B == rapid["receiver_buffer"]


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("receiver", ["slac-2003-receiver"]),
        (
            "sender",
            ["slac-2003-b", "slac-2003-b-txq100", "slac-2003-b-txq3000", "slac-2003-b-txq10000"],
        ),
    ],
)
def test_the_tunings_are_the_pages_settings_of_the_network(host, names):
    page = published.load("slac-2003-settings").query("host == @host")
    wanted = {row.key: row.value for row in page.itertuples() if row.key.startswith("net.")}
    assert wanted
    for name in names:
        profile = load_profile(name)
        found = {knob.name: knob.value for knob in profile.items if knob.kind == "sysctl"}
        assert found == wanted


def test_settings_a_differ_from_b_as_on_the_page():
    a, b = load_profile("slac-2003-a"), load_profile("slac-2003-b")
    assert {knob.name for knob in a.items} == {knob.name for knob in b.items}
    changed = {k.name: k.value for k in a.items if k.value != b.value_of(k.kind, k.name)}
    assert changed == {
        "net.ipv4.tcp_rmem": "4096 33554432 134217728",
        "net.ipv4.tcp_wmem": "4096 33554432 134217728",
        "net.ipv4.tcp_mem": "4096 33554432 134217728",
    }


def test_the_short_form_takes_at_most_eight_minutes():
    study = load(FILE, quick=True)
    planned = visits(study)
    runs = [run for block in planned for run in block.runs]
    took_s = measuring_s(study, runs) + RUN_OVERHEAD_S * len(runs)
    assert took_s + BLOCK_OVERHEAD_S * len(planned) + DRAIN_S + SITE_S <= SHORT_FORM_S


def test_a_run_of_the_whole_study_sees_reno_fill_the_path_again(study):
    """After a loss at twice the path's need, a queue as deep as the path, half still fills it."""
    emulator = study.paths["wide-area"].link.emulator
    segments = bdp_B(emulator.rate_Mbps, emulator.rtt_ms) / 8948
    for group in part(study, "recovery"):
        # from the half of a window that fills the path and half of its queue
        round_trips = segments - 1.5 * segments / 2
        left_s = study.timing.warmup_s + study.timing.seconds - group.force_loss_at_s
        assert round_trips * emulator.rtt_ms / 1e3 < left_s


def test_the_limited_slow_start_is_wad_confs(study):
    page = published.load("slac-2003-wad")
    lines = [f"{row.key}: {row.value}" for row in page.itertuples()]
    (entry,) = parse_wad("\n".join([f"[{page['section'].iloc[0]}]", *lines]))
    assert study.stacks["highspeed-wad"] == entry.stack()
    (group,) = part(study, "limited slow start")
    assert (group.congestion, group.buffer_B) == ("highspeed-wad", entry.sndbuf)
