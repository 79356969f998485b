"""Each fault of a host, card or path is one finding with its command; a clean path has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.study import StudyHost, is_name, load
from netlab.survey.findings import Finding, cpus_of, findings
from netlab.survey.init import study_text
from netlab.survey.paths import name_of
from netlab.survey.surveyed import FoundEnd, FoundPath, HostSurvey, Interface, Interrupt
from netlab.tuning.knobs import Knob

CARD = Interface(
    "eth2",
    speed_Mbps=25_000,
    duplex="full",
    driver="ice",
    bus_address="0000:41:00.0",
    link_speed="16.0 GT/s PCIe",
    link_width=8,
    link_max_speed="16.0 GT/s PCIe",
    link_max_width=8,
    local_cpus="0-7",
    rx_queues=8,
    channels_max=64,
    ring=4096,
    ring_max=4096,
    features={"generic-receive-offload": "on"},
    qdiscs=("mq", "fq_codel"),
    interrupts=tuple(Interrupt(100 + cpu, str(cpu)) for cpu in range(8)),
)
HOST = HostSurvey(
    "here",
    cpus=8,
    clock_s=1_800_000_000,
    governors=("performance",) * 8,
    idle_us=2,
    services=("chronyd",),
    synchronised=True,
    congestion="cubic",
    rmem_max_B=67_108_864,
    wmem_max_B=67_108_864,
)


def path(host: HostSurvey = HOST, card: Interface = CARD, peer: Interface = CARD) -> FoundPath:
    there = FoundEnd(replace(HOST, name="there"), peer, "198.18.0.2")
    return FoundPath((FoundEnd(host, card, "198.18.0.1"), there), 0.1)


def test_a_way_that_no_connection_passes_is_a_finding_of_the_receiver():
    (one,) = findings((replace(path(), refused={"here": "port 1 did not answer"}),))
    assert one.host == "there" and "from here arrives at 198.18.0.2 (port 1 did" in one.reason


def test_a_clean_path_has_no_finding():
    assert findings((path(),)) == ()


# what changes -> reason, command, and knob of a tuning
FAULTS = {
    "governor": (
        {"governors": ("powersave",) * 6 + ("performance",) * 2},
        "governor of 6 of 8 CPUs is powersave",
        *("cpupower frequency-set -g performance", "{kind: governor, value: performance}"),
    ),
    "idle states": ({"idle_us": 170}, "up to 170 us to wake", "cpupower idle-set -D 50"),
    "irqbalance": (
        {"services": ("chronyd", "irqbalance")},
        *("irqbalance moves interrupts", "systemctl stop irqbalance"),
    ),
    "no clock": (
        {"services": (), "synchronised": False},
        *("nothing synchronises its clock", "timedatectl set-ntp true"),
    ),
    "clocks apart": ({"clock_s": 1_800_000_099}, "their clocks are 99 s apart", ""),
    "bbr": (
        {"congestion": "bbr"},
        *("eth2 has no fq", "tc qdisc replace dev eth2 root fq", "{kind: qdisc, value: mq fq}"),
    ),
    "small buffer": (
        {"rmem_max_B": 212_992},
        "tcp_rmem gives a stream 212992 B",
        'sysctl -w net.ipv4.tcp_rmem="4096 131072 1250000"',
        "{kind: sysctl, name: net.ipv4.tcp_rmem, value: 4096 131072 1250000}",
    ),
    "firewall": ({"filters": 2}, "filters incoming packets", "nft list ruleset"),
    "firewalld": (
        {"services": ("chronyd", "firewalld")},
        *("filters incoming packets", "nft list ruleset"),
    ),
    "conntrack": (
        {"conntrack": True},
        *("tracks connections", "iptables -t raw -I PREROUTING -i eth2 -j CT --notrack"),
    ),
    "SSH": ({"ssh_address": "198.18.0.1"}, "carries the SSH connections too", ""),
    "half a slot": (
        {"link_width": 4},
        *("eth2 has PCIe 4.0 x4 of the PCIe 4.0 x8", "lspci -vv -s 0000:41:00.0 | grep LnkSta"),
    ),
    "slow slot": ({"link_speed": "8.0 GT/s PCIe"}, "PCIe 3.0 x8 of the PCIe 4.0 x8", "lspci"),
    "small ring": (
        {"ring": 512},
        *("ring of 512 packets", "ethtool -G eth2 rx 4096", "{kind: ring, name: rx, value: 4096}"),
    ),
    "one queue": (
        {"rx_queues": 1, "interrupts": ()},
        *("1 receive queues for 8 CPUs", "ethtool -L eth2 combined 8"),
        "{kind: channels, name: combined, value: 8}",
    ),
    "far interrupts": (
        {"local_cpus": "8-15"},
        "8 interrupts of eth2 are served by CPUs of another NUMA node",
        "echo 8-15 > /proc/irq/100/smp_affinity_list",
        "{kind: irq, name: affinity, value: local}",
    ),
    "collision": (
        {"interrupts": tuple(Interrupt(100 + n, "3") for n in range(8))},
        *("8 interrupts of eth2 are served by 1 CPUs", "grep eth2 /proc/interrupts"),
        "{kind: irq, name: affinity, value: spread}",
    ),
    "offload": (
        {"features": {"generic-receive-offload": "off"}},
        *("generic-receive-offload is off", "ethtool -K eth2 gro on"),
        '{kind: feature, name: gro, value: "on"}',
    ),
    "pause frames": ({"pauses": ("rx",)}, "pause frames (rx)", "ethtool -A eth2 rx off tx off"),
    "drops": ({"drops": {"rx_missed_errors": 7}}, "(rx_missed_errors 7)", "ethtool -S eth2"),
    "cloud": (
        {"driver": "ena"},
        "eth2 is the card of a virtual machine (ena): where its network lets a burst pass first, "
        "timing.seconds of 60 shows the rate that stays",
        "",
    ),
    "half duplex": ({"duplex": "half"}, "half duplex", "ethtool -s eth2 autoneg on"),
    "MTU": (
        {"mtu_B": 1400},
        "eth2 has MTU 1400 B and the other end 1500 B",
        "ip link set dev eth2 mtu 1500",
    ),
    "speed": ({"speed_Mbps": 10_000}, "the cards have 10000 and 25000 Mb/s", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_what_mends_it(fault):
    change, reason, command, *in_tuning = FAULTS[fault]
    of_host = change.keys() <= vars(HOST).keys()
    host, card = (replace(HOST, **change), CARD) if of_host else (HOST, replace(CARD, **change))
    (found,) = findings((path(host, card),))
    assert reason in found.reason and found.command.startswith(command), found
    assert found.host in ("here", "here, there")
    assert [found.knob] == (in_tuning or [""])
    if found.knob:
        knob = Knob(source="netlab init", **yaml.safe_load(found.knob))
        lines = [f"here: {found.reason}", f"  {found.command}", f"  in a tuning: {found.knob}"]
        assert found.lines() == lines
        if knob.kind in ("ring", "channels", "feature"):
            assert knob.command("eth2") == found.command


def test_what_the_host_does_not_say_is_no_finding():
    unknown = Interface("eth2", mtu_B=1500)
    bare = HostSurvey("here", services=("ntpd",))
    both = (FoundEnd(bare, unknown, "a"), FoundEnd(replace(bare, name="there"), unknown, "b"))
    assert findings((FoundPath(both, 100.0),)) == ()


def test_slow_cards_need_no_large_rings():
    slow = replace(CARD, speed_Mbps=1000, ring=256, rx_queues=1)
    assert findings((path(HOST, slow, slow),)) == ()


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_cpus_is_read_as_the_kernel_writes_it(cpus):
    parts, left = [], sorted(cpus)
    while left:
        first = last = left.pop(0)
        while left and left[0] == last + 1:
            last = left.pop(0)
        parts.append(f"{first}-{last}" if last > first else f"{first}")
    assert cpus_of(",".join(parts)) == cpus


@given(st.text(max_size=30))
def test_no_text_stops_a_list_of_cpus(text):
    assert all(cpu >= 0 for cpu in cpus_of(text[:8]))


printable = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)


def written(tmp_path, text):
    file = tmp_path / "found.yml"
    file.write_text(text)
    return load(file)


@settings(max_examples=20)
@given(os=printable, cpu=printable, driver=printable, reason=printable, rtt=st.floats(0.001, 2000))
def test_it_is_valid(tmp_path_factory, os, cpu, driver, reason, rtt):
    card = Interface("eth2", speed_Mbps=100_000, driver=driver, mtu_B=9000)
    left = HostSurvey("alpha", os=os, cpu_model=cpu, cpus=64)
    right = HostSurvey("beta", kernel=os)
    ends = (FoundEnd(left, card, "192.0.2.1"), FoundEnd(right, card, "192.0.2.2"))
    hosts = {
        "alpha": StudyHost(kind="ssh", address="alpha.example.org", port=2222),
        "beta": StudyHost(kind="ssh", address="::1", user="me"),
    }
    path = FoundPath(ends, rtt)
    text = study_text("mine", hosts, (path, path), (Finding("alpha", reason, reason),))
    study = written(tmp_path_factory.mktemp("text"), text)
    assert study.hosts["alpha"].port == 2222 and study.hosts["beta"].user == "me"
    assert [level.name for level in study.tunings] == ["as-found"]
    assert study.streams == (1, 4, 32) or list(study.streams) == [1, 4, 32]
    warmup_s = study.timing.warmup_s
    assert warmup_s is None or warmup_s >= 20 * rtt / 1e3 - 0.1


@pytest.mark.parametrize(("rtt_ms", "seconds"), [(0.1, 60.0), (1000.0, 100.0)])
def test_a_window_beyond_a_clouds_burst_is_offered(tmp_path, rtt_ms, seconds):
    ends = path(card=replace(CARD, driver="ena")).ends
    hosts = {name: StudyHost(kind="ssh", address=name) for name in ("here", "there")}
    lines = study_text("mine", hosts, (FoundPath(ends, rtt_ms),), ()).splitlines()
    taken = [line for line in lines if not line.startswith("timing:")]
    offered = [line.removeprefix("# ") if "# timing:" in line else line for line in taken]
    assert written(tmp_path, "\n".join(offered)).timing.seconds == seconds
    as_found = study_text("mine", hosts, (path(),), ())
    assert "# timing:" not in as_found


def test_what_stands_in_comments_is_valid_too(tmp_path):
    card = Interface("eth2", speed_Mbps=10_000)
    left, right = HostSurvey("alpha"), HostSurvey("beta")
    ends = (FoundEnd(left, card, "192.0.2.1"), FoundEnd(right, card, "192.0.2.2"))
    hosts = {name: StudyHost(kind="ssh", address=name) for name in ("alpha", "beta")}
    text = study_text("mine", hosts, (FoundPath(ends, 183.2),), ())
    lines = [
        line.replace("# ", "", 1) if "# -" in line or line.startswith("  #  ") else line
        for line in text.splitlines()
    ]
    study = written(tmp_path, "\n".join(lines))
    assert [group.name for group in study.groups] == [
        "alpha -> beta",
        "beta -> alpha",
        "alpha <-> beta",
    ]
    larger = study.tuning_profile("alpha", "larger")
    # four times the bandwidth-delay product of 10 Gb/s and 183.2 ms
    assert [item.value for item in larger.items] == ["4096 131072 916000000"] * 2


def test_a_further_path_is_one_of_the_study_without_its_comment_signs(tmp_path):
    hosts = {name: StudyHost(kind="ssh", address=name) for name in ("here", "there")}
    text = study_text("mine", hosts, (path(), path()), ())
    before, _, after = text.partition("  # Found too")
    _, _, after = after.partition("\n")
    further, _, rest = after.partition("\n\n")
    shown = "\n".join(line.replace("# ", "", 1) for line in further.splitlines())
    study = written(tmp_path, f"{before}{shown}\n\n{rest}")
    assert study.paths["data2"].ends == study.paths["data"].ends


@pytest.mark.parametrize(
    ("address", "taken", "name"),
    [
        ("alpha.example.org", [], "alpha"),
        ("192.0.2.1", [], "left"),
        ("192.0.2.1", ["left"], "right"),
        ("::1", [], "left"),
        ("alpha", ["alpha"], "left"),
        ("node_1", [], "node_1"),
    ],
)
def test_the_name_of_a_host(address, taken, name):
    assert name_of(address, taken) == name


@given(st.text(min_size=1, max_size=60))
def test_every_name_of_a_host_is_valid_in_a_study(address):
    assert is_name(name_of(address))
