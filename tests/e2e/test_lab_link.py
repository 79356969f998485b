"""A lab link is set as the study says, and carries what its rate and MTU allow.

A path with an emulator is as long as the study says, reported, and gone with the lab."""

import os
import re
import subprocess

import pytest
from lab_study import bus, lab_study
from refusals import refused
from waiting import until

from netlab.errors import BadInput, HostError
from netlab.experiment.study_hosts import data_address
from netlab.lab import reaper
from netlab.lab.lab import Lab
from netlab.lab.link import wait_until_up
from netlab.lab.link_queues import sending_masks

STUDY = lab_study(
    {"a": bus(2128.0), "b": bus(1600.0), "c": {"kind": "lab"}, "d": {"kind": "lab"}},
    {
        "bus": {"ends": [{"host": "a"}, {"host": "b"}], "link": {}},
        "shaped": {
            "ends": [{"host": "a", "interface": "shaped0"}, {"host": "c"}],
            "link": {"rate_Mbps": 1000.0},
        },
        "tuned": {
            "ends": [{"host": "b", "address": "192.0.2.1"}, {"host": "c", "address": "192.0.2.77"}],
            "link": {
                "interrupt_delay_us": 0.0,
                "segmentation_offload": True,
                "checksum_offload": True,
            },
        },
        "wide": {
            "ends": [{"host": "c"}, {"host": "d"}],
            "link": {"interrupt_delay_us": 0.0, "queues": 2},
        },
        "long": {
            "ends": [{"host": "a", "interface": "long0"}, {"host": "b", "interface": "long0"}],
            "link": {
                "emulator": {
                    "with": "netlab",
                    "delay_ms": [5.0, 15.0],
                    "rate_Mbps": 100.0,
                    "queue_packets": 50,
                }
            },
        },
    },
)


@pytest.fixture(scope="module")
def lab():
    with Lab.up(STUDY, owned=True) as lab:
        for host in lab.hosts:  # every link is up when the lab is
            lines = subprocess.check_output(
                ("ip", "-n", lab.namespace(host), "-o", "link", "show", "type", "veth"), text=True
            )
            assert lines.count("state UP") == len(lines.splitlines()) > 0, f"{host}: {lines}"
        yield lab


def test_a_link_that_stays_down_is_an_error_with_its_name(lab):
    first, second = lab.namespace("a"), lab.namespace("c")
    subprocess.run(("ip", "-n", first, "link", "set", "shaped0", "down"), check=True)
    with refused(HostError, "E-LAB-017", match="data0 is (lowerlayer)?down"):
        wait_until_up(second, [lab.describe()["shaped"]["c"]["interface"]], timeout_s=0.3)
    with refused(HostError, "E-LAB-017", match="none0"):
        wait_until_up(second, ["none0"])
    subprocess.run(("ip", "-n", first, "link", "set", "shaped0", "up"), check=True)


def test_links_model_the_card_and_bus_of_2003_or_offload_and_have_queues_as_asked(lab):
    for end in lab.describe()["bus"].values():
        assert end["rate_bps"] == 12_800_000_000
        assert end["interrupt_delay_ns"] == 52_429 and end["napi_defer_hard_irqs"] == 1
        assert (end["tso"], end["gso"], end["gro"]) == (False, False, True)
        assert (end["rx_checksum"], end["tx_checksum"]) == (False, False)
        assert end["gro_max_size_B"] == 100 and end["txqueuelen"] == 1000
    ends = lab.describe()["tuned"]
    assert set(ends) == {"b", "c"}
    for end in ends.values():
        assert end["rate_bps"] is None
        assert end["interrupt_delay_ns"] == 0 and end["napi_defer_hard_irqs"] == 0
        assert end["tso"] and end["gso"] and end["tx_checksum"] and end["rx_checksum"]
    described = lab.describe()
    for end in described["shaped"].values():
        assert (end["receive_queues"], end["transmit_queues"]) == (1, 1)
        assert end["sending_cpus"] == []
    for end in described["wide"].values():
        assert (end["receive_queues"], end["transmit_queues"]) == (2, 2)
        masks = [int(mask.replace(",", ""), 16) for mask in end["sending_cpus"]]
        assert masks == [int(mask.replace(",", ""), 16) for mask in sending_masks(2)]


def test_packets_of_a_processor_arrive_at_its_own_queue(lab):
    interface = lab.describe()["wide"]["d"]["interface"]
    for cpu in sorted(os.sched_getaffinity(0))[:2]:
        before = _received(lab, interface)
        ping = ("ping", "-n", "-q", "-c", "20", "-i", "0.002", data_address(STUDY, "wide", "d"))
        enter = ("ip", "netns", "exec", lab.namespace("c"), "taskset", "-c", str(cpu))
        subprocess.run((*enter, *ping), check=True, stdout=subprocess.DEVNULL)
        queue = cpu % 2
        here, there = (_received(lab, interface)[q] - before[q] for q in (queue, 1 - queue))
        assert here >= 20 > there


def _received(lab, interface):
    """Packets that came in at each receive queue of host d."""
    enter = ("ip", "netns", "exec", lab.namespace("d"))
    said = subprocess.run(
        (*enter, "ethtool", "-S", interface), check=True, capture_output=True, text=True
    ).stdout
    return [int(found) for found in re.findall(r"rx_queue_\d+_xdp_packets: (\d+)", said)]


def test_names_and_addresses_of_the_study_are_used_and_no_bbr(lab):
    assert lab.describe()["shaped"]["a"]["interface"] == "shaped0"
    with lab.host("b") as host:
        host.run(("ping", "-n", "-c", "1", "-W", "10", "192.0.2.77"))
    with lab.host("a") as host:
        chosen = host.run(("cat", "/proc/sys/net/ipv4/tcp_congestion_control")).stdout.strip()
    assert chosen in {"cubic", "reno"}


@pytest.mark.parametrize("mtu_B", [1500, 9000, 16114])
def test_every_mtu_of_2003_passes_whole(lab, mtu_B):
    for host, interface in (("a", "shaped0"), ("c", "data0")):
        words = ("link", "set", "dev", interface, "mtu", str(mtu_B))
        subprocess.run(("ip", "-n", lab.namespace(host), *words), check=True)
    payload = str(mtu_B - 28)
    with lab.host("a") as host:
        address = data_address(STUDY, "shaped", "c")
        host.run(("ping", "-n", "-M", "do", "-s", payload, "-c", "1", "-W", "10", address))


def ping_ms(lab: Lab) -> float:
    argv = ("ip", "netns", "exec", lab.namespace("a"), "ping", "-n", "-q", "-c", "5", "-i", "0.05")
    waits = ("-w", "30", data_address(STUDY, "long", "b"))  # for the last answer
    done = subprocess.run((*argv, *waits), capture_output=True, text=True, timeout=60)
    return float(re.search(r"= ([\d.]+)/", done.stdout)[1])


def test_the_path_is_as_long_as_the_study_says(lab):
    """Other work adds to a round trip; the compensation for wake-ups may take some 0.1 ms off."""
    assert ping_ms(lab) > 19.8
    directions = lab.emulator("long").report()["directions"]
    assert [way["delay_us"] for way in directions] == [5000, 15000]
    assert [way["rate_bps"] for way in directions] == [100_000_000] * 2
    assert [way["queue_limit_packets"] for way in directions] == [50, 50]
    assert all(way["in_packets"] == way["out_packets"] >= 5 for way in directions)


def test_its_ends_are_set_like_any_interface(lab):
    for end in lab.describe()["long"].values():
        assert end["tso"] and end["txqueuelen"] == 1000 and end["mtu_B"] == 1500
        assert end["interrupt_delay_ns"] == 0
    for host in ("a", "b"):
        namespace = lab.namespace(host)
        subprocess.run(("ip", "-n", namespace, "link", "set", "long0", "mtu", "9000"), check=True)
    assert {end["mtu_B"] for end in lab.describe()["long"].values()} == {9000}


def test_its_output_file_stays_bounded(lab, monkeypatch):
    monkeypatch.setattr("netlab.lab.emulator.ANSWERS_KEPT_B", 10_000)
    (answers,) = lab.state.glob("emulator-long.answers")
    sizes_B = set()
    for _ in range(20):
        assert lab.emulator("long").report(samples=True)["samples"]["t_ns"]
        sizes_B.add(answers.stat().st_size)
    assert min(sizes_B) > 0 and max(sizes_B) < 10_000 + 2 * min(sizes_B) + 10_000


def test_a_path_without_an_emulator_has_no_report(lab):
    with pytest.raises(BadInput, match="long"):
        lab.emulator("bus")
    assert lab.fits(STUDY)
    paths = lab.status()["paths"]
    assert [paths[name]["emulated_with"] for name in ("long", "bus")] == ["netlab", None]


def test_the_emulator_outlives_its_maker_and_ends_with_the_lab():
    study = lab_study(
        paths={
            "a-b": {
                "ends": [{"host": "a"}, {"host": "b"}],
                "link": {"emulator": {"with": "netlab", "rtt_ms": 2.0, "loss": 0.001, "seed": 3}},
            }
        }
    )
    lab = Lab.up(study)
    try:
        (pid,) = reaper.processes_in([lab.namespace("a")])
        assert Lab(lab.state).emulator("a-b").report(samples=True)["samples"]["t_ns"]
        assert os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "gensink"
        emulator = lab.emulator("a-b")
    finally:
        lab.down()
    until(lambda: not os.path.isdir(f"/proc/{pid}"))
    with pytest.raises(HostError, match="gone"):
        emulator.report()
