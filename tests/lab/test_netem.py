"""An emulated path by the kernel's netem: the choice of it, and the input of tc.

The real tc reads every line; a kernel without netem refuses it for that alone. What netem then does
to packets is tested on a virtual machine whose kernel has it (``tests/nightly/vm``).
"""

import json
import subprocess

import pytest
from lab_study import lab_study
from pydantic import ValidationError
from refusals import refused

import netlab
from netlab.errors import Unsupported
from netlab.lab import kernel_emulator
from netlab.lab.emulator import EmulatorSettings
from netlab.lab.kernel_emulator import KernelFeatures, NetemSettings
from netlab.lab.namespaces import tool
from netlab.lab.topology import Topology, topology
from netlab.study import Emulator, LabLink, Study, load

ALL = KernelFeatures(netem=True, rate=True, seed=True)
NONE = KernelFeatures(netem=False, rate=False, seed=False)
NO_RATE, NO_SEED = ALL._replace(rate=False), ALL._replace(seed=False)
LONG = {"rtt_ms": 183.2, "rate_Mbps": 100.0, "queue_B": 1_000_000, "loss": 1e-4, "seed": 7}


def asked(**words) -> Emulator:
    return Emulator.model_validate(words)


def study(group: dict | None = None, **words) -> Study:
    ends = [{"host": "a"}, {"host": "b"}]
    made = lab_study(paths={"a-b": {"ends": ends, "link": {"emulator": words}}})
    content = made.model_dump()
    content["groups"][0].update(group or {})
    return Study.model_validate(content)


@pytest.mark.parametrize(
    ("printed", "there"), [("netem\nrate\nseed\n", ALL), ("netem\nrate\n", NO_SEED), ("", NONE)]
)
def test_features_are_probed_in_a_namespace_of_their_own(printed, there):
    ran: list[tuple[str, ...]] = []
    assert kernel_emulator.probed(lambda argv: ran.append(argv) or printed) == there
    assert [argv[:2] for argv in ran] == [("unshare", "--net")]


def test_the_probe_finds_the_features_of_this_kernel():
    """As its own list of modules tells, where it has one; the machine's interfaces stay as is."""
    before = tool(("ip", "-o", "link"))
    there = kernel_emulator.probed()
    assert tool(("ip", "-o", "link")) == before
    done = subprocess.run(
        ("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
        capture_output=True,
        text=True,
    )
    assert there.netem == (done.returncode == 0)
    if not there.netem:
        assert "unknown" in done.stderr
        with refused(Unsupported, "E-LAB-023"):
            kernel_emulator.takes(asked(**{"with": "netem"}), lambda: there)


@pytest.mark.parametrize(
    ("words", "there", "taken"),
    [
        (LONG, ALL, True),
        (LONG, NONE, False),
        (LONG, NO_RATE, False),
        (LONG, NO_SEED, False),
        ({**LONG, "loss": 0.0}, NO_SEED, True),
        ({"rtt_ms": 1.0}, NO_SEED._replace(rate=False), True),
        ({**LONG, "queue_packets": 50}, ALL, False),
        ({**LONG, "jitter_ms": 1.0}, ALL, False),
        ({**LONG, "reorder": 0.01}, ALL, False),
        ({"rtt_ms": 1.0, "jitter_ms": 1.0, "reorder": 0.01, "with": "netem"}, ALL, True),
        ({**LONG, "with": "netlab"}, ALL, False),
    ],
)
def test_netem_is_used_where_equivalent_or_requested(words, there, taken):
    assert kernel_emulator.takes(asked(**words), lambda: there) is taken


@pytest.mark.parametrize(
    ("words", "there", "says"),
    [
        ({}, NONE, "no netem"),
        (LONG, NO_RATE, "token bucket"),
        (LONG, NO_SEED, "no seed"),
        ({**LONG, "reorder": 0.01}, ALL, "passes the rate by"),
        ({"delay_ms": [0.0, 3.0], "reorder": 0.01}, ALL, "a delay each way"),
    ],
)
def test_a_study_that_requires_netem_gets_the_missing_feature(words, there, says):
    with refused(Unsupported, "E-LAB-023", match=says):
        kernel_emulator.takes(asked(**words, **{"with": "netem"}), lambda: there)


def test_the_kernel_is_not_probed_without_a_choice():
    def never() -> KernelFeatures:
        raise AssertionError

    assert kernel_emulator.takes(asked(**{"with": "netlab"}), never) is False
    assert topology(lab_study(), never).paths[0].emulated_with is None


def test_delay_and_loss_come_before_the_rate_and_its_queue():
    settings = NetemSettings.of(asked(**LONG))
    assert settings.tc_lines("data0", 0) == [
        "qdisc add dev data0 root handle 1: netem limit 52407 delay 91600us loss 0.01% seed 14",
        "qdisc add dev data0 parent 1:1 handle 2: tbf rate 100000000bit burst 50000b "
        "limit 1000000b",
    ]
    back = settings.tc_lines("data0", 1)
    assert back[0].endswith("seed 15") and back[1] == settings.tc_lines("data0", 0)[1]


def test_packets_in_flight_are_not_a_queue():
    """A second of the smallest packets at 100 Mb/s each way, twice."""
    long = asked(rtt_ms=2000.0, rate_Mbps=100.0, queue_packets=50)
    assert NetemSettings.of(long).limit_packets == 391_624 + 50
    assert NetemSettings.of(asked(rtt_ms=20_000.0, rate_Mbps=1e6)).limit_packets == 2**31 - 1


@pytest.mark.parametrize(
    ("queue", "packets"),
    [({"queue_packets": 1500}, 1500), ({"queue_B": 96_000}, 1500), ({}, 2**19)],
)
def test_a_full_queue_may_wait_in_netem_while_its_cpu_has_other_work(queue, packets):
    """The discipline below takes a packet only when the CPU that sends runs."""
    assert NetemSettings.of(asked(rate_Mbps=10.0, **queue)).limit_packets == 1000 + packets


def test_each_way_has_its_delay_and_a_queue_may_be_in_packets():
    settings = NetemSettings.of(asked(delay_ms=[1.0, 0.0], rate_Mbps=10.0, queue_packets=50))
    assert " delay 1000us" in settings.tc_lines("d", 0)[0]
    assert "delay" not in settings.tc_lines("d", 1)[0]
    assert settings.tc_lines("d", 1)[2] == "qdisc add dev d parent 2:1 handle 3: pfifo limit 50"


@pytest.mark.parametrize(
    ("rate_Mbps", "mtu_B", "burst_B"),
    [(0.1, 1500, 1564), (10.0, 1500, 6514), (10.0, 9000, 14_014), (1000.0, 1500, 131_072)],
)
def test_a_frame_and_4_ms_of_the_rate_pass_before_the_queue(rate_Mbps, mtu_B, burst_B):
    """As much as a link's bucket where that is less: 128 KiB."""
    assert NetemSettings.of(asked(rate_Mbps=rate_Mbps), mtu_B).burst_B == burst_B


EVERYTHING = {
    **{"rtt_ms": 183.2, "loss": 1e-4, "seed": 7},
    **{"jitter_ms": 1.0, "reorder": 0.01, "with": "netem"},
}


def test_forced_jitter_and_reordering_are_netems_own_words_and_what_is_not_random_has_no_seed():
    (first,) = NetemSettings.of(asked(**EVERYTHING)).tc_lines("d", 0)
    assert " delay 91600us 1000us loss 0.01% reorder 1% seed 14" in first
    assert "seed" not in NetemSettings.of(asked(rtt_ms=1.0, seed=9)).tc_lines("d", 0)[0]


@pytest.mark.parametrize("words", [LONG, EVERYTHING, {"rtt_ms": 0.0}, {"delay_ms": [0.0, 3.0]}])
def test_the_real_tc_understands_every_line(words):
    """A kernel without netem refuses only netem; seeds need tc 6.6."""
    settings = NetemSettings.of(asked(**words))
    for direction in (0, 1):
        for line in settings.tc_lines("lo", direction):
            argv = ("unshare", "--net", "tc", *line.split(" seed ")[0].split())
            done = subprocess.run(argv, capture_output=True, text=True)
            known = done.returncode == 0 or "qdisc kind is unknown" in done.stderr
            # a qdisc below netem has no place without it
            assert known or ("parent" in line and "Failed to find" in done.stderr), done.stderr


def test_a_topology_with_netem_is_a_veth_pair_that_leaves_segments_apart():
    plan = topology(study(**LONG), lambda: ALL)
    (path,) = plan.paths
    assert path.emulated_with == "netem" and path.emulator is None
    assert path.settings.card and not path.settings.segmentation_offload
    assert path.settings.ip_lines("data0")[0].endswith("gso_max_segs 1")
    assert [line.split()[3] for line in plan.tc_lines("a")] == ["data0", "data0"]
    assert plan.tc_lines("a")[0].endswith("seed 14") and plan.tc_lines("b")[0].endswith("seed 15")
    assert Topology.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan


def test_without_netem_and_where_losses_are_forced_it_is_netlabs_own():
    assert topology(study(**LONG), lambda: NONE).paths[0].emulated_with == "netlab"
    forced = study({"force_loss_at_s": 0.5}, **LONG)
    assert topology(forced, lambda: ALL).paths[0].emulated_with == "netlab"


def test_settings_beyond_netem_are_refused_in_the_study():
    with pytest.raises(ValidationError, match="in bytes or in packets"):
        asked(**LONG, queue_packets=5, **{"with": "netem"})
    with pytest.raises(ValidationError, match="cannot force a loss"):
        study({"force_loss_at_s": 0.5}, **{"with": "netem"})
    with pytest.raises(ValidationError, match="with"):
        asked(**{"with": "magic"})


def test_the_word_survives_a_file():
    content = study(**LONG, **{"with": "netem"}).model_dump(mode="json")
    assert content["paths"]["a-b"]["link"]["emulator"]["with"] == "netem"
    assert Study.model_validate(content).paths["a-b"].link.emulator.with_ == "netem"


def test_a_round_trip_is_halved_and_units_are_converted():
    given = {"rtt_ms": 183.2, "rate_Mbps": 2500.0, "queue_B": 4_000_000, "loss": 1e-6, "seed": 7}
    given |= {"mark_above_B": 9000, "jitter_ms": 0.5, "reorder": 0.01, "reorder_ms": 2.0}
    there, back = EmulatorSettings.of(asked(**given)).requests()
    assert there == (
        "set direction=ab delay_us=91600 rate_bps=2500000000 queue_B=4000000 queue_packets=0 "
        "mark_above_B=9000 loss_ppb=1000 jitter_us=500 reorder_ppb=10000000 reorder_us=2000 "
        "seed=14 discipline=none target_us=0 interval_us=0 ecn=0 burst_B=0 policer=0 "
        "enter_bad_ppb=0 leave_bad_ppb=0 bad_loss_ppb=0 flow_delay_max_us=0"
    )
    assert back == there.replace("=ab", "=ba").replace("seed=14", "seed=15")


def test_each_way_may_have_its_own_delay():
    settings = EmulatorSettings.of(Emulator(delay_ms=(10.0, 173.2)))
    assert [way.delay_us for way in settings.ways] == [10_000, 173_200]
    assert all(way.rate_bps == way.queue_B == way.queue_packets == 0 for way in settings.ways)


def test_each_direction_may_have_its_own_rate_queue_loss_and_delay():
    """A queue in bytes there and in packets back; what reverse leaves out is as in the other."""
    both = {"rtt_ms": 30.0, "rate_Mbps": 100.0, "queue_B": 60_000, "loss": 0.001, "jitter_ms": 1.0}
    reverse = {"rate_Mbps": 10.0, "queue_packets": 20, "loss": 0.0, "delay_ms": 25.0}
    there, back = EmulatorSettings.of(asked(**both, reverse=reverse)).ways
    assert (there.delay_us, there.rate_bps, there.loss_ppb) == (5000, 100_000_000, 1_000_000)
    assert (there.queue_B, there.queue_packets) == (60_000, 0)
    assert (back.delay_us, back.rate_bps, back.loss_ppb) == (25_000, 10_000_000, 0)
    assert (back.queue_B, back.queue_packets) == (0, 20)
    assert there.jitter_us == back.jitter_us == 1000
    assert LabLink(emulator=asked(**both, reverse=reverse)).shaped_Mbps == (100.0, 10.0)


def test_a_bucket_and_a_policer_are_netlabs_own_also_in_one_direction():
    words = {"rate_Mbps": 10.0, "burst_B": 15_000}
    assert kernel_emulator.takes(asked(**words), lambda: ALL) is False
    there, back = EmulatorSettings.of(asked(**words, reverse={"policer": True})).ways
    assert (there.burst_B, there.policer, back.burst_B, back.policer) == (15_000, 0, 15_000, 1)


def test_a_discipline_has_the_times_of_its_rfc_unless_the_study_states_others():
    words = {"rate_Mbps": 10.0, "queue_discipline": "codel"}
    assert kernel_emulator.takes(asked(**words), lambda: ALL) is False
    reverse = {"queue_discipline": "pie", "target_ms": 20.0, "queue_B": 90_000}
    there, back = EmulatorSettings.of(asked(**words, reverse=reverse)).ways
    assert (there.discipline, there.target_us, there.interval_us) == ("codel", 5000, 100_000)
    assert (back.discipline, back.target_us, back.interval_us) == ("pie", 20_000, 15_000)
    assert (there.queue_packets, back.queue_packets, back.queue_B) == (10_240, 0, 90_000)
    own = asked(**words, target_ms=9.0, reverse={"queue_discipline": "fifo"})
    assert [way.target_us for way in EmulatorSettings.of(own).ways] == [9000, 0]
    plain = EmulatorSettings.of(asked(rate_Mbps=10.0)).ways[0]
    assert (plain.discipline, plain.queue_packets) == ("none", 0)


def test_cake_marks_and_bounds_its_queue_as_linux_does():
    words = {"rate_Mbps": 100.0, "queue_discipline": "cake"}
    assert kernel_emulator.takes(asked(**words), lambda: ALL) is False
    (way, back) = EmulatorSettings.of(asked(**words, reverse={"rate_Mbps": 10.0})).ways
    assert (way.discipline, way.target_us, way.interval_us, way.ecn) == ("cake", 5000, 100_000, 1)
    # four intervals of the rate, and 4 MiB of a slow one; 10,240 packets of both
    assert (way.queue_B, way.queue_packets) == (5_000_000, 10_240)
    assert (back.queue_B, back.queue_packets) == (4 << 20, 10_240)
    own = asked(**words, queue_packets=50, queue_ecn=False)
    (way, _) = EmulatorSettings.of(own).ways
    assert (way.queue_B, way.queue_packets, way.ecn) == (0, 50, 0)
    fast = asked(rate_Mbps=1e6, queue_discipline="cake", interval_ms=4000.0)
    assert EmulatorSettings.of(fast).ways[0].queue_B == 1 << 30


def test_a_discipline_marks_where_a_direction_or_a_link_asks_for_it():
    words = {"rate_Mbps": 10.0, "queue_discipline": "codel", "queue_ecn": True}
    second = {"rate_Mbps": 5.0, "queue_discipline": "pie", "queue_ecn": True}
    settings = EmulatorSettings.of(asked(**words, reverse={"queue_ecn": False}, second=second))
    assert [way.ecn for way in (*settings.ways, *settings.second)] == [1, 0, 1, 1]
    # another discipline begins anew, as its times do
    settings = EmulatorSettings.of(asked(**words, reverse={"queue_discipline": "fq_codel"}))
    assert [way.ecn for way in settings.ways] == [1, 0]


def test_bursts_of_losses_have_the_mean_loss_and_their_mean_length():
    """Of the bad state: p / (p + r) of the packets, 1 / r at once."""
    words = {"loss": 0.02, "loss_burst_packets": 8.0}
    assert kernel_emulator.takes(asked(**words), lambda: ALL) is False
    reverse = {"loss_in_burst": 0.5, "loss_burst_packets": 4.0}
    there, back = EmulatorSettings.of(asked(**words, reverse=reverse)).ways
    for way, loss, length in ((there, 1.0, 8.0), (back, 0.5, 4.0)):
        p, r = way.enter_bad_ppb / 1e9, way.leave_bad_ppb / 1e9
        assert way.loss_ppb == 0 and way.bad_loss_ppb == loss * 1e9
        assert p / (p + r) * loss == pytest.approx(0.02, rel=1e-6) and 1 / r == length
    (none, _) = EmulatorSettings.of(asked(loss_burst_packets=8.0)).ways
    assert none.enter_bad_ppb == none.loss_ppb == 0


def test_netem_has_both_directions_alike_and_netlabs_own_takes_over():
    words = {**LONG, "reverse": {"loss": 0.0}}
    assert kernel_emulator.takes(asked(**words), lambda: ALL) is False
    with pytest.raises(ValidationError, match="alike in both directions"):
        asked(**words, **{"with": "netem"})


def test_a_topology_with_an_emulator_survives_its_state_file():
    plan = topology(study(**{"with": "netlab", "rtt_ms": 2.0}))
    assert [way.delay_us for way in plan.paths[0].emulator.ways] == [1000, 1000]
    assert plan.paths[0].settings.card is False
    assert Topology.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"rtt_ms": 1.0, "delay_ms": [1.0, 1.0]}, "give one"),
        ({"queue_packets": 10}, "needs a rate_Mbps"),
        ({"delay_ms": [1.0]}, "delay_ms"),
        ({"reverse": {"queue_B": 1000}}, "needs a rate_Mbps"),
        ({"delay_ms": [1.0, 1.0], "reverse": {"delay_ms": 1.0}}, "give one"),
        ({"rtt_ms": 1.0, "reverse": {"delay_ms": 2.0}}, "give less"),
        ({"burst_B": 1000}, "needs a rate_Mbps"),
        ({"rate_Mbps": 1.0, "policer": True}, "needs burst_B"),
        ({"rate_Mbps": 1.0, "burst_B": 9000, "policer": True, "queue_B": 9000}, "has no queue"),
        ({"queue_discipline": "pie"}, "needs a rate_Mbps"),
        ({"rate_Mbps": 1.0, "target_ms": 5.0}, "name it"),
        ({"rate_Mbps": 1.0, "queue_discipline": "red"}, "queue_discipline"),
        # the emulator takes whole microseconds
        ({"rate_Mbps": 1.0, "queue_discipline": "codel", "target_ms": 0.0004}, "target_ms"),
        ({"rate_Mbps": 1.0, "queue_discipline": "pie", "interval_ms": 0.0004}, "interval_ms"),
        ({"rate_Mbps": 1.0, "queue_discipline": "codel", "mark_above_B": 9000}, "takes no"),
        ({"rate_Mbps": 1.0, "queue_ecn": True}, "name a queue_discipline"),
        ({"loss": 0.1, "loss_in_burst": 0.5}, "needs loss_burst_packets"),
        ({"loss": 0.6, "loss_burst_packets": 1.0}, "cannot make a mean of 0.6"),
        ({"loss": 0.5, "loss_burst_packets": 9.0, "loss_in_burst": 0.5}, "cannot make a mean"),
        ({"reverse": {"rtt_ms": 2.0}}, "rtt_ms"),
    ],
)
def test_an_emulator_that_contradicts_itself_is_refused(content, says):
    with pytest.raises(ValidationError, match=says):
        Emulator.model_validate(content)


def test_a_link_is_a_card_or_a_long_path():
    with pytest.raises(ValidationError, match="no segmentation_offload"):
        LabLink.model_validate({"emulator": {}, "segmentation_offload": True})
    with pytest.raises(ValidationError, match="no queues"):
        LabLink.model_validate({"emulator": {}, "queues": 2})
    assert LabLink.model_validate({"emulator": {"rate_Mbps": 5.0}}).shaped_Mbps == (5.0, 5.0)
    assert LabLink(rate_Mbps=7.0).shaped_Mbps == (7.0, 7.0)


def test_an_emulator_is_part_of_a_studys_digest():
    one, same, other = (study(rtt_ms=rtt_ms).digest() for rtt_ms in (1.0, 1.0, 2.0))
    assert one == same != other


BEFORE = {
    **{"with": None, "rtt_ms": None, "delay_ms": None, "rate_Mbps": None, "queue_B": None},
    **{"queue_packets": None, "mark_above_B": None, "loss": 0.0, "jitter_ms": 0.0},
    **{"reorder": 0.0, "reorder_ms": 1.0, "seed": 0},
}
"""Keys of an emulator in the digests of studies that were frozen before it had further ones."""


def test_keys_that_came_later_are_in_a_digest_only_where_they_are_used():
    assert Emulator().model_dump(mode="json") == BEFORE
    used = asked(rate_Mbps=5.0, reverse={"rate_Mbps": 1.0})
    assert used.model_dump(mode="json")["reverse"] == {"rate_Mbps": 1.0}
    assert Emulator.model_validate(used.model_dump(mode="json")) == used
    assert study(rate_Mbps=5.0).digest() != study(rate_Mbps=5.0, reverse={"loss": 0.1}).digest()


def test_a_study_of_two_names_with_an_emulator_is_a_file_to_edit(tmp_path):
    levels = {"reverse_rate_Mbps": [1, 2], "queue_discipline": ["fifo", "codel"]}
    made = netlab.Study.between("l", "r", rate_Mbps=10, burst_B=20_000, reverse_loss=0.1, **levels)
    made.to_yaml(tmp_path / "mine.yml")
    again = load(tmp_path / "mine.yml")
    emulator = next(iter(again.paths.values())).link.emulator
    assert (emulator.burst_B, emulator.reverse.loss) == (20_000, 0.1)
    assert again.factors.given() == {
        "queue_discipline": ("fifo", "codel"),
        "reverse_rate_Mbps": (1.0, 2.0),
    }
