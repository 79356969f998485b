"""The tunings of the documents as data, and the refusal of invalid ones."""

import shlex

import pytest
from tuning.openlab_profiles import OPENLAB

from netlab.errors import BadInput
from netlab.tuning.knobs import RX_INT_DELAY_UNIT_NS, Choice, Knob, item_key
from netlab.tuning.profiles import Profile, load_profile, profile_names


def values(profile: Profile) -> dict[str, str]:
    """Every plain knob by its label."""
    return {item.label: item.value for item in profile.items if isinstance(item, Knob)}


def test_there_are_the_five_tunings_of_the_report():
    assert set(OPENLAB) <= set(profile_names())


@pytest.mark.parametrize("name", OPENLAB)
def test_every_value_has_a_source(name):
    profile = load_profile(name)
    for item in profile.items:
        knobs = (
            [item] if isinstance(item, Knob) else [k for o in item.first_supported for k in o.knobs]
        )
        assert all("appendix" in knob.source for knob in knobs)


def test_every_tuning_sets_the_same_knobs():
    labels = {frozenset(values(load_profile(name))) for name in OPENLAB}
    assert [len(one) for one in labels] == [17]


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (
            "normal",
            {
                **{"net.ipv4.tcp_rmem": "4096 87380 174760", "net.core.netdev_max_backlog": "300"},
                **{"net.ipv4.tcp_mem": "97280 97792 98304", "ring rx": "1024", "ring tx": "256"},
                "feature rx-checksum": "off",
            },
        ),
        ("kernel", {"net.core.netdev_max_backlog": "300000", "ring rx": "1024"}),
        ("full", {"ring rx": "2048", "ring tx": "2048", "feature tx-checksum": "on"}),
        # the odd values as printed
        (
            "full-linux32",
            {"net.ipv4.tcp_wmem": "409600 163840 1310720", "net.core.optmem_max": "81920"},
        ),
    ],
)
def test_values_are_those_of_the_appendix(name, printed):
    assert printed.items() <= values(load_profile(f"openlab-2003-{name}")).items()


def test_full_is_kernel_tuning_and_the_drivers_parameters():
    kernel, full = (
        {k: v for k, v in values(load_profile(name)).items() if k.startswith("net.")}
        for name in OPENLAB[1:3]
    )
    assert kernel == full
    assert load_profile(OPENLAB[4]).lineage == tuple(OPENLAB[i] for i in (0, 3, 4))


@pytest.mark.parametrize("name", OPENLAB)
def test_interrupt_delay_is_the_documents_number_in_todays_units(name):
    profile = load_profile(name)
    (delay,) = [item for item in profile.items if isinstance(item, Choice)]
    delay_ns = int(delay.published) * RX_INT_DELAY_UNIT_NS
    card, software = delay.first_supported
    assert delay.parameter == "RxIntDelay" and software.needs == "software_deferral"
    assert int(card.knobs[0].value) == round(delay_ns / 1000, 0)
    got = {knob.name: int(knob.value) for knob in software.knobs}
    assert got["gro_flush_timeout"] == round(delay_ns)
    assert got["napi_defer_hard_irqs"] == (1 if delay_ns else 0)
    assert [len(o) for o in profile.options()].count(2) == 0
    assert [len(o) for o in profile.options(software_deferral=True)].count(2) == 1


@pytest.mark.parametrize(
    ("name", "limit"), [(OPENLAB[0], 65535), (OPENLAB[1], 524287), (OPENLAB[2], 524287)]
)
def test_buffer_limits_are_the_tunings_own(name, limit):
    assert load_profile(name).buffer_clamp_B() == (limit, limit)
    assert load_profile("as-found").buffer_clamp_B() == (None, None)


def test_commands_are_quoted():
    def commands(interface: str, way: int) -> list[str]:
        options = load_profile("openlab-2003-normal").options(software_deferral=True)
        return [knob.command(interface) for ways in options if ways for knob in ways[way].knobs]

    lines = commands("eth2", 0)
    assert "sysctl -w 'net.ipv4.tcp_rmem=4096 87380 174760'" in lines
    assert "ethtool -C eth2 rx-usecs 52" in lines and "ethtool -K eth2 tx off" in lines
    assert "echo 52429 > /sys/class/net/eth2/gro_flush_timeout" in commands("eth2", -1)
    for line in commands("a;b", -1):
        assert "a;b" not in line or any("a;b" in word for word in shlex.split(line))
        assert "'" in line if ";" in line else True
    queue = Knob(kind="txqueuelen", value=10000, source="SLAC")
    assert queue.command("eth2") == "ip link set dev eth2 txqueuelen 10000"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a tuning into a directory of data of its own."""

    def make(body: str, name: str = "x", head: str = "name: {name}\ntitle: t\nsource: s\n"):
        (tmp_path / "tunings").mkdir(exist_ok=True)
        (tmp_path / "tunings" / f"{name}.yml").write_text(head.format(name=name) + body)
        monkeypatch.setenv("NETLAB_DATA", str(tmp_path))

    return make


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("knobs: []\nknots: 1", ["knots", "1"]),
        ("knobs: []\nknobs: []", ["knobs", "twice"]),
        ("knobs: [{kind: mtoo, value: 1, source: s}]", ["knobs.0", "kind", "mtoo"]),
        ("knobs: [{kind: mtu, value: 1}]", ["knobs.0", "source"]),
        ("knobs: [{kind: mtu, value: 1, source: s, x: 2}]", ["knobs.0", "x", "2"]),
        ("knobs: [{kind: mtu, value: -1, source: s}]", ["knobs.0", "-1"]),
        ("knobs: [{kind: mtu, value: 1.5, source: s}]", ["knobs.0", "1.5"]),
        ("knobs: [{kind: mtu, value: .nan, source: s}]", ["knobs.0", "nan"]),
        ("knobs: [{kind: mtu, value: 99999999999, source: s}]", ["knobs.0", "99999999999"]),
        ("knobs: [{kind: feature, name: tso, value: true, source: s}]", ["knobs.0", "quotes"]),
        ("knobs: [{kind: feature, name: tso, value: maybe, source: s}]", ["knobs.0", "maybe"]),
        ("knobs: [{kind: ring, name: both, value: 1, source: s}]", ["knobs.0", "both"]),
        ("knobs: [{kind: sysctl, name: kernel.x, value: 1, source: s}]", ["knobs.0", "kernel.x"]),
        ("knobs: [{kind: sysctl, name: net..x, value: 1, source: s}]", ["knobs.0", "net..x"]),
        ("knobs: [{kind: sysctl, name: net.//.x, value: 1, source: s}]", ["knobs.0", "net.//.x"]),
        ("knobs: [{kind: sysctl, name: net.x, value: ü, source: s}]", ["knobs.0", "ASCII"]),
        (
            "knobs: [{kind: mtu, value: 1, source: s}, {kind: mtu, value: 2, source: s}]",
            ["mtu", "twice"],
        ),
        ("knobs: [{parameter: p, published: 1, first_supported: []}]", ["first_supported"]),
        ("extends: x\nknobs: []", ["extends", "x"]),
        ("extends: nosuch\nknobs: []", ["extends", "nosuch"]),
        ("extends: ../x\nknobs: []", ["extends", "../x"]),
        ("knobs: !!python/object/apply:os.getpid []", ["not"]),
        ("knobs: [", ["x.yml:4", "flow"]),
    ],
)
def test_a_bad_file_is_refused_by_file_key_and_value(write, body, words):
    write(body)
    with pytest.raises(BadInput) as refusal:
        load_profile("x")
    message = str(refusal.value)
    assert all(word in message for word in ["x.yml", *words]), message


@pytest.mark.parametrize("value", ["on", "off"])
def test_a_bare_on_or_off_is_the_word_that_an_offload_takes(write, value):
    write(f"knobs: [{{kind: feature, name: tso, value: {value}, source: s}}]")
    assert values(load_profile("x")) == {"feature tso": value}


def test_the_name_in_the_file_is_the_files(write):
    write("knobs: []", name="y", head="name: z\ntitle: t\nsource: s\n")
    with pytest.raises(BadInput, match=r"y\.yml: name: .*'z'"):
        load_profile("y")


def test_an_unknown_tuning_is_refused_with_the_known_names():
    with pytest.raises(
        BadInput, match="openlab-2003-full, openlab-2003-full-linux32, openlab-2003-kernel"
    ):
        load_profile("fast")


def test_data_are_read_from_the_directory_of_the_environment(write, monkeypatch, tmp_path):
    write("knobs: []")
    assert profile_names() == ["x"]
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="NETLAB_DATA"):
        profile_names()


OFFLOADS = ("gso_max_size", "gro_max_size", "gso_ipv4_max_size", "gro_ipv4_max_size")
TODAYS = [
    *("esnet-10g", "esnet-10g-paced", "esnet-100g", "esnet-big-tcp"),
    *("intel-i40e", "intel-ice", "napi-deferred", "napi-threaded"),
    *("osg-25g", "osg-400g"),
]


@pytest.mark.parametrize("name", TODAYS)
def test_every_knob_of_todays_tunings_has_a_source_and_an_effect_or_what_it_needs(name):
    profile = load_profile(name)
    assert profile.items
    for item in profile.items:
        options = [] if isinstance(item, Knob) else item.first_supported
        for knob in [k for o in options for k in o.knobs] or [item]:
            assert knob.source and (knob.note or knob.when_missing), knob.label


def test_the_larger_of_esnets_lists_contains_the_smaller_one():
    small, large = (
        {item_key(item) for item in load_profile(name).items}
        for name in ("esnet-10g", "esnet-100g")
    )
    assert small < large
    added = values(load_profile("esnet-100g"))
    assert added["governor"] == "performance" and added["irq affinity"] == "local"
    # rings before interrupts, which a change of rings may renew
    assert list(added).index("ring rx") < list(added).index("irq affinity")


def test_big_packets_are_set_on_both_sides_of_the_stack_for_both_families():
    added = values(load_profile("esnet-big-tcp"))
    sizes = {name: added[f"offload {name}"] for name in OFFLOADS}
    assert sizes == dict.fromkeys(OFFLOADS[:2], "185000") | dict.fromkeys(OFFLOADS[2:], "150000")
    assert added.keys() > values(load_profile("esnet-100g")).keys()


@pytest.mark.parametrize(
    ("name", "rate_bps", "rtt_s", "sizes"),
    [
        ("osg-25g", 25e9, 0.064, ("402653184", "201326592", "300000", "10000")),
        ("osg-400g", 400e9, 0.021, ("2147483647", "1073741824", "1000000", "20000")),
    ],
)
def test_osgs_lists_hold_the_windows_that_their_notes_state(name, rate_bps, rtt_s, sizes):
    set_to = values(load_profile(name))
    limit, window, backlog, queue = sizes
    assert set_to["net.core.rmem_max"] == set_to["net.core.wmem_max"] == limit
    for buffer in ("rmem", "wmem"):
        assert set_to[f"net.ipv4.tcp_{buffer}"].split()[-1] == window
    assert int(window) * 8 / rate_bps == pytest.approx(rtt_s, rel=0.03)
    assert (set_to["net.core.netdev_max_backlog"], set_to["txqueuelen"]) == (backlog, queue)


@pytest.mark.parametrize(("name", "usecs"), [("intel-i40e", "250"), ("intel-ice", "80")])
def test_adaptive_coalescing_is_off_before_a_time_is_set(name, usecs):
    """With it on, a driver may ignore the time."""
    set_to = values(load_profile(name))
    assert set_to["adaptive rx"] == set_to["adaptive tx"] == "off"
    assert set_to["coalesce rx-usecs"] == set_to["coalesce tx-usecs"] == usecs
    assert list(set_to).index("adaptive tx") < list(set_to).index("coalesce rx-usecs")


@pytest.mark.parametrize(
    ("name", "per_queue", "one"),
    [
        ("esnet-10g", "mq fq", "fq"),
        ("esnet-10g-paced", "mq fq maxrate 2000000000", "fq maxrate 2000000000"),
    ],
)
def test_fair_queueing_is_set_on_each_queue_or_on_the_one(name, per_queue, one):
    (choice,) = [item for item in load_profile(name).items if isinstance(item, Choice)]
    assert [o.knobs[0].value for o in choice.first_supported] == [per_queue, one]


OF_CARD = "$(basename $(readlink -f /sys/class/net/eth0/device))"
COMMANDS = [
    ("offload", "gro_ipv4_max_size", 150000, "ip link set dev eth0 gro_ipv4_max_size 150000"),
    ("qdisc", None, "fq", "tc qdisc replace dev eth0 root fq"),
    (
        *("qdisc", None, "fq maxrate 2.5gbit limit 20000"),
        "tc qdisc replace dev eth0 root fq limit 20000 maxrate 2500000000",
    ),
    (
        *("qdisc", None, "mq fq"),
        "tc qdisc replace dev eth0 root handle 6e6c: mq; n=1; for q in "
        "/sys/class/net/eth0/queues/tx-*; do tc qdisc replace dev eth0 parent "
        "6e6c:$(printf %x $n) fq; n=$((n + 1)); done",
    ),
    (
        *("governor", None, "performance"),
        "for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do "
        "echo performance > $f; done",
    ),
    (
        *("irq", "affinity", "0..2/0-3*2"),
        "set -- 0 1 2 0-3 0-3; for n in $(ls /sys/class/net/eth0/device/msi_irqs | sort -n); "
        "do if ls -d /proc/irq/$n/*/ >/dev/null 2>&1; then "
        "echo $1 > /proc/irq/$n/smp_affinity_list; shift; fi; done",
    ),
    ("pci", "max-read-request", 4096, f"setpci -s {OF_CARD} CAP_EXP+8.w=5000:7000"),
    ("pci", "mmrbc", 2048, f"setpci -s {OF_CARD} CAP_PCIX+2.w=8:c"),
]


@pytest.mark.parametrize(("kind", "name", "value", "command"), COMMANDS)
def test_what_100_gbps_needs_is_a_knob_with_a_command(kind, name, value, command):
    knob = Knob(source="a paper", kind=kind, name=name, value=value)
    assert knob.command("eth0") == command


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ({"kind": "offload", "name": "tso_max_size", "value": 1}, "takes gso_max_size"),
        ({"kind": "offload", "name": "gso_max_size", "value": "64k"}, "whole decimal number"),
        ({"kind": "qdisc", "value": "tbf"}, "one of noqueue"),
        ({"kind": "qdisc", "name": "root", "value": "fq"}, "no name"),
        ({"kind": "qdisc", "value": "fq maxrate"}, "a rate of a flow"),
        ({"kind": "qdisc", "value": "fq maxrate 100gbit"}, "at most 34.4 Gbit/s"),
        ({"kind": "qdisc", "value": "fq rate 5"}, "takes limit, flow_limit"),
        ({"kind": "qdisc", "value": "fq buckets 3"}, "power of two"),
        ({"kind": "qdisc", "value": "pfifo limit 5"}, "takes no parameters"),
        ({"kind": "qdisc", "value": "mq mq"}, "that of each queue"),
        ({"kind": "governor", "value": "Fast!"}, "a word such as performance"),
        ({"kind": "governor", "name": "cpu0", "value": "performance"}, "no name"),
        ({"kind": "irq", "name": "affinity", "value": "0/"}, "spread or local"),
        ({"kind": "pci", "name": "mmrbc", "value": 256}, "one of 512, 1024"),
        ({"kind": "pci", "name": "max-payload", "value": 256}, "read only"),
    ],
)
def test_a_size_or_qdisc_that_cannot_be_set_is_refused(knob, words):
    with pytest.raises(ValueError, match=words):
        Knob(source="a paper", **knob)
