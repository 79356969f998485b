"""The lab of a study is worked out without touching the machine."""

import ipaddress

import pytest
from lab_study import bus, lab_study
from refusals import refused

from netlab.errors import BadInput
from netlab.experiment.study_hosts import data_address, interface
from netlab.lab import switch
from netlab.lab.kernel_emulator import KernelFeatures
from netlab.lab.topology import IPV4, IPV6, Topology, topology

THREE = {"a": bus(2128.0), "b": bus(2128.0), "c": bus(1600.0)}
TWO_PATHS = {
    "a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {}},
    "c-a": {"ends": [{"host": "c"}, {"host": "a"}], "link": {}},
}


def test_every_end_has_its_own_interface_and_addresses():
    study = lab_study(THREE, TWO_PATHS)
    plan = topology(study)
    assert [(end.host, end.interface) for path in plan.paths for end in path.ends] == [
        ("a", "data0"), ("b", "data0"), ("c", "data0"), ("a", "data1")
    ]  # fmt: skip
    all_addresses = [word for path in plan.paths for end in path.ends for word in end.addresses]
    assert len(set(all_addresses)) == 8
    for word in all_addresses:
        address = ipaddress.ip_address(word)
        assert address in (IPV4 if address.version == 4 else IPV6)
    assert interface(study, "c-a", "a") == "data1"
    assert data_address(study, "c-a", "a") == "198.18.0.6"
    assert data_address(study, "c-a", "a", version=6) == "2001:2:0:1::2"


def test_the_slower_bus_is_the_rate_unless_the_link_names_one():
    rates = [path.settings.rate_bps for path in topology(lab_study(THREE, TWO_PATHS)).paths]
    assert rates == [17_024_000_000, 12_800_000_000]
    shaped = {"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {"rate_Mbps": 1000.0}}}
    assert topology(lab_study(THREE, shaped)).paths[0].settings.rate_bps == 10**9
    assert topology(lab_study()).paths[0].settings.rate_bps is None


def test_a_topology_survives_being_written_down():
    wide = {"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {"queues": 2}}}
    several = topology(lab_study(paths=wide))
    assert several.paths[0].settings.queues == 2
    for plan in (several, topology(lab_study(THREE, TWO_PATHS))):
        assert Topology.from_dict(plan.as_dict()) == plan


def test_addresses_and_interfaces_of_the_study_are_taken():
    ends = [
        {"host": "a", "address": "10.9.0.1", "interface": "eth1"},
        {"host": "b", "address": "10.9.7.2"},
    ]
    study = lab_study(paths={"p": {"ends": ends}})
    first, second = topology(study).paths[0].ends
    assert (first.interface, first.addresses, first.peers) == ("eth1", ("10.9.0.1",), ("10.9.7.2",))
    assert (second.interface, second.addresses) == ("data0", ("10.9.7.2",))
    assert data_address(study, "p", "b") == "10.9.7.2"


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ([{"host": "a", "address": "10.0.0.1"}, {"host": "b"}], "both ends or for none"),
        ([{"host": "a", "interface": "lo"}, {"host": "b"}], "not an interface name"),
        ([{"host": "a", "interface": '"x'}, {"host": "b"}], "not an interface name"),
        ([{"host": "a", "interface": "a;b"}, {"host": "b"}], "not an interface name"),
        ([{"host": "a", "interface": "_x"}, {"host": "b"}], "not an interface name"),
    ],
)
def test_ends_that_cannot_be_made_are_bad_input(ends, message):
    with refused(BadInput, "E-LAB-026", "E-LAB-027", match=message):
        topology(lab_study(paths={"p": {"ends": ends}}))


def test_an_interface_used_twice_is_bad_input():
    paths = {
        "p": {"ends": [{"host": "a", "interface": "x0"}, {"host": "b"}]},
        "q": {"ends": [{"host": "a", "interface": "x0"}, {"host": "b"}]},
    }
    with refused(BadInput, "E-LAB-028", match="another path too"):
        topology(lab_study(paths=paths))


def test_a_study_without_lab_hosts_has_no_lab():
    hosts = {name: {"kind": "ssh", "address": f"{name}.example"} for name in "ab"}
    ends = [{"host": name, "address": f"10.0.0.{i}", "interface": "e"} for i, name in
            enumerate("ab", 1)]  # fmt: skip
    with refused(BadInput, "E-LAB-024"):
        topology(lab_study(hosts, {"p": {"ends": ends}}))


def test_a_name_that_is_not_there_is_bad_input():
    study = lab_study()
    with pytest.raises(BadInput, match="unknown path"):
        data_address(study, "nosuch", "a")
    with pytest.raises(BadInput, match="not an end"):
        interface(study, "a-b", "nosuch")


def crossed(**changes):
    study = lab_study(
        {"a": bus(1064.0), "b": bus(1064.0)},
        {"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {}}},
    )
    return type(study).model_validate({**study.model_dump(), **changes})


def test_every_level_of_a_factor_of_the_link_is_a_link_of_its_own():
    study = crossed(factors={"offloads": ["none", "all"], "interrupt_delay_us": [0, 50]})
    plan = topology(study)
    assert len(plan.paths) == 4
    assert {path.settings.interrupt_delay_ns for path in plan.paths} == {0, 50_000}
    assert {path.settings.checksum_offload for path in plan.paths} == {True, False}
    interfaces = [end.interface for path in plan.paths for end in path.ends if end.host == "a"]
    assert sorted(interfaces) == ["data0", "data1", "data2", "data3"]
    assert len({word for path in plan.paths for end in path.ends for word in end.addresses}) == 16
    name = "a-b+offloads=all+interrupt_delay_us=50"
    assert data_address(study, name, "b") in {
        word for p in plan.paths for word in p.ends[1].addresses
    }


def test_read_bursts_leave_a_share_of_the_bus():
    study = crossed(factors={"read_burst_B": [512, 4096]})
    rates = {path.name: path.settings.rate_bps for path in topology(study).paths}
    assert rates == {
        "a-b+read_burst_B=512": round(1064e6 * 8 * 64 / 74),
        "a-b+read_burst_B=4096": round(1064e6 * 8 * 512 / 522),
    }


def test_a_factor_of_the_path_may_add_an_emulator():
    emulator = {"emulator": {"with": "netlab"}}
    study = crossed(
        hosts={"a": {"kind": "lab"}, "b": {"kind": "lab"}},
        paths={"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": emulator}},
        factors={"rtt_ms": [0, 20], "rate_Mbps": [100]},
    )
    found = {path.name: path.emulator for path in topology(study).paths}
    assert [way.delay_us for way in found["a-b+rtt_ms=0+rate_Mbps=100"].ways] == [0, 0]
    assert [way.delay_us for way in found["a-b+rtt_ms=20+rate_Mbps=100"].ways] == [10_000] * 2
    assert {way.rate_bps for one in found.values() for way in one.ways} == {100_000_000}


SHARED = {
    "a-b": {
        **{"ends": [{"host": "a"}, {"host": "b"}], "also": [{"host": "c"}, {"host": "d"}]},
        "link": {"emulator": {"rtt_ms": 5.0}},
    },
    "c-a": {"ends": [{"host": "c"}, {"host": "a"}], "link": {}},
}
FOUR = {name: {"kind": "lab"} for name in "abcd"}


def test_further_senders_have_addresses_of_their_own_and_the_receiver_as_peer():
    plan = topology(lab_study(FOUR, SHARED))
    shared, cable = plan.paths
    assert [end.host for end in shared.behind_switch] == ["a", "c", "d"]
    receiver = shared.ends[1]
    assert {end.peers for end in shared.behind_switch} == {receiver.addresses}
    each = [word for path in plan.paths for end in path.every_end for word in end.addresses]
    assert len(set(each)) == len(each) == 2 * 6
    # a path's own do not depend on the senders of another
    alone = topology(lab_study(FOUR, {**SHARED, "a-b": {**SHARED["a-b"], "also": []}}))
    assert [end.addresses for end in cable.ends] == [e.addresses for e in alone.paths[1].ends]
    assert cable.behind_switch == () and Topology.from_dict(plan.as_dict()) == plan


def test_hosts_that_share_a_link_have_netlabs_own_emulator_on_it():
    """netem joins two devices alone."""
    plan = topology(lab_study(FOUR, SHARED), kernel=lambda: KernelFeatures(True, True, True))
    assert plan.paths[0].emulated_with == "netlab"
    fixed = {**SHARED["a-b"], "ends": [{"host": "a", "address": "10.9.0.1"}, {"host": "b"}]}
    with refused(BadInput, "E-LAB-026"):
        topology(lab_study(FOUR, {"a-b": fixed}))


def test_a_switch_knows_the_neighbours_of_each_port_and_the_way_to_each_sender():
    (path, _) = topology(lab_study(FOUR, SHARED)).paths
    (address, peer), device = path.also[0].addresses[:1] + path.also[0].peers[:1], "data0"
    (line,) = switch.ip_lines(path, "c", ipv6=False)
    assert line.startswith(f"neigh replace {peer} lladdr ") and f"dev {device}" in line
    back = switch.ip_lines(path, "b", ipv6=False)
    assert len(back) == 2 and f"route add {address} dev {device}" in back
