"""A link's parameters become the kernel's units."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from netlab.lab import reaper, sshd
from netlab.lab.link import LinkSettings, bucket_B, queue_a_cpu, sending_masks
from netlab.study import LabLink
from netlab.study.hosts import MOST_QUEUES


def test_the_default_link_is_the_untuned_card_of_2003():
    settings = LinkSettings.of(LabLink(), 2128.0)
    assert settings.rate_bps == 17_024_000_000
    assert settings.interrupt_delay_ns == 52_429
    assert settings.settings_argv("data0")[-5:] == ("data0", "off", "off", "52429", "1")
    assert settings.ip_lines("data0") == [
        "link set dev data0 txqueuelen 1000 gro_max_size 100"
    ]  # fmt: skip


def test_the_bucket_takes_half_a_millisecond_and_always_two_frames_of_any_mtu():
    assert LinkSettings.of(LabLink(), 2128.0).burst_B == 1_064_000
    assert LinkSettings.of(LabLink(rate_Mbps=10.0), None).burst_B == 32_768 >= 2 * (16_114 + 14)
    assert LinkSettings.of(LabLink(rate_Mbps=10.0), None, 65_535).burst_B == 2 * (65_535 + 14)
    # a slow link parts large segments, and no bucket lasts less than 4 ms for it
    rates_bps = (100_000_000, 200_000_000, 400_000_000, 1_000_000_000)
    assert list(map(bucket_B, rates_bps)) == [50_000, 100_000, 131_072, 131_072]


def test_a_link_without_bus_or_rate_is_not_shaped():
    settings = LinkSettings.of(LabLink(), None)
    assert settings.rate_bps is None
    assert settings.tc_lines("data0") == []


def test_a_tuned_link_offloads_and_does_not_wait():
    link = LabLink(interrupt_delay_us=0.0, segmentation_offload=True, checksum_offload=True)
    settings = LinkSettings.of(link, None)
    assert settings.settings_argv("data0")[-5:] == ("data0", "on", "on", "0", "0")
    assert "gro_max_size" not in settings.ip_lines("data0")[0]


def test_without_root_of_the_machine_a_link_sets_no_deferral_and_no_cpus_of_queues():
    for queues in (1, 2):
        argv = LinkSettings.of(LabLink(queues=queues), None).settings_argv("data0", reserved=False)
        assert argv[-3:] == ("data0", "off", "off")


def test_several_queues_are_made_with_the_pair_and_shared_out():
    one, two = LabLink(), LabLink(queues=2)
    assert LinkSettings.of(one, None).add_words == ""
    settings = LinkSettings.of(two, None)
    assert settings.add_words == " numtxqueues 2 numrxqueues 2"
    masks = settings.settings_argv("data0")[-2:]
    assert settings.settings_argv("data0")[:-2] == LinkSettings.of(one, None).settings_argv("data0")
    assert masks == sending_masks(2)


@pytest.mark.parametrize("queues", [0, 257])
def test_a_number_of_queues_that_cannot_be_is_refused(queues):
    with pytest.raises(ValidationError, match="queues"):
        LabLink(queues=queues)


# Every processor sends into one queue of a link, and every queue has a processor.


def cpus_of(mask: str) -> set[int]:
    """As the kernel reads a bitmap: groups of 32 bits, the last one lowest."""
    groups = mask.split(",")
    assert all(len(group) <= 8 for group in groups)
    bits = sum(int(group, 16) << 32 * place for place, group in enumerate(reversed(groups)))
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


@given(st.integers(2, MOST_QUEUES), st.integers(1, 1024))
def test_processors_are_dealt_to_the_queues_in_turn(queues, cpus):
    masks = sending_masks(queues, cpus)
    assert len(masks) == queues
    for queue, mask in enumerate(masks):
        assert cpus_of(mask) == {cpu for cpu in range(cpus) if cpu % queues == queue}


def test_a_mask_of_many_processors_is_in_groups_of_32():
    assert sending_masks(2, 2) == ("00000001", "00000002")
    assert sending_masks(34, 34)[33] == "00000002,00000000"


def test_one_queue_serves_all_cpus_without_a_setting():
    assert sending_masks(1) == ()


def test_a_queue_a_processor_leaves_each_its_own():
    queues = queue_a_cpu()
    assert 1 <= queues <= MOST_QUEUES
    if queues > 1:
        assert all(len(cpus_of(mask)) == 1 for mask in sending_masks(queues))


# A lab whose ends autogroups would separate gets a task group; elsewhere they share one.

V1 = "34 31 0:29 / {} rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
V1_OTHER = "35 31 0:32 / {} rw,relatime - cgroup cgroup rw,memory\n"
V2 = "41 31 0:38 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER = "29 1 254:1 / /a\\040b rw,relatime - ext4 /dev/root rw\n"


@pytest.fixture
def machine(tmp_path):
    """Make a proc file system and a control group hierarchy; the directory of the latter."""

    def make(mounts, own, *, autogroup="1", **files):
        hierarchy, proc = tmp_path / "cg", tmp_path / "proc"
        hierarchy.mkdir()
        (proc / "sys/kernel").mkdir(parents=True)
        (proc / "self").mkdir()
        (proc / "self/mountinfo").write_text(OTHER + mounts.replace("{}", str(hierarchy)))
        (proc / "self/cgroup").write_text(own)
        if autogroup is not None:
            (proc / "sys/kernel/sched_autogroup_enabled").write_text(f"{autogroup}\n")
        for name, text in files.items():
            (hierarchy / name.replace("_", ".", 1)).write_text(f"{text}\n")
        return proc, hierarchy

    return make


V2_FILES = {"cgroup_controllers": "cpuset cpu io memory", "cgroup_subtree_control": "cpu memory"}


@pytest.mark.parametrize(
    ("mounts", "own", "files"),
    [
        (V1, "3:cpuset:/\n1:cpu,cpuacct:/\n0::/\n", {}),
        (V1_OTHER + V1, "4:memory:/x\n1:cpu,cpuacct:/\n0::/\n", {}),
        (V2, "0::/\n", V2_FILES),
    ],
)
def test_a_process_at_the_top_of_a_hierarchy_can_have_a_group(machine, mounts, own, files):
    proc, hierarchy = machine(mounts, own, **files)
    assert sshd.own_task_group(proc) == sshd.OwnTaskGroup(sshd.APART, hierarchy)


@pytest.mark.parametrize(
    ("mounts", "own", "files"),
    [
        (V1, "1:cpu,cpuacct:/user.slice\n0::/\n", {}),
        (V2, "0::/user.slice/user-0.slice/session-1.scope\n", V2_FILES),
        # As in a container: what is the top to it is none.
        (V2, "0::/\n", V2_FILES | {"cgroup_type": "domain"}),
        (V1, "1:cpu,cpuacct:/\n", {"autogroup": "0"}),
        (V1, "1:cpu,cpuacct:/\n", {"autogroup": None}),
    ],
)
def test_a_process_in_a_group_already_shares_it(machine, mounts, own, files):
    assert sshd.own_task_group(machine(mounts, own, **files)[0]) == sshd.OwnTaskGroup(sshd.SHARED)


@pytest.mark.parametrize(
    ("mounts", "files"),
    [
        ("", {}),
        (V1_OTHER, {}),
        (V2, V2_FILES | {"cgroup_subtree_control": "memory"}),
        (V2, V2_FILES | {"cgroup_controllers": "memory"}),
        (V2, {}),
    ],
)
def test_without_a_hierarchy_for_processors_sessions_stay_apart(machine, mounts, files):
    proc, _ = machine(mounts, "0::/\n", **files)
    assert sshd.own_task_group(proc) == sshd.OwnTaskGroup(sshd.APART)


def test_a_mount_point_is_read_with_its_escapes(tmp_path):
    text = V2.format(r"/sys/fs/c\040g\134x")
    (tmp_path / "mountinfo").write_text(OTHER + text)
    ((mount, version),) = reaper.cpu_hierarchies(tmp_path / "mountinfo")
    assert (str(mount), version) == (r"/sys/fs/c g\x", 2)
    assert reaper.cpu_hierarchies(tmp_path / "none") == []


@pytest.fixture
def state(tmp_path):
    directory = tmp_path / "lab1"
    directory.mkdir()
    return directory


def test_a_group_weighs_as_much_as_the_sessions_it_takes_the_place_of(state, tmp_path, monkeypatch):
    hierarchy = tmp_path / "cg"
    (hierarchy / "nlab-lab1").mkdir(parents=True)
    (hierarchy / "nlab-lab1" / "cpu.shares").write_text("1024")
    there = sshd.OwnTaskGroup(sshd.APART, hierarchy)
    monkeypatch.setattr(sshd, "own_task_group", lambda: there)
    sshd.make_task_group(state, 3)
    assert (hierarchy / "nlab-lab1" / "cpu.shares").read_text() == "3072"
    assert not (hierarchy / "nlab-lab1" / "cpu.weight").exists()
    assert sshd.task_group_kind(state) == sshd.OWN

    said = subprocess.run((*sshd.in_task_group(state), "echo", "a b", "$c"), capture_output=True)
    assert said.stdout == b"a b $c\n"
    assert (hierarchy / "nlab-lab1" / "cgroup.procs").read_text() == "0\n"


@pytest.mark.parametrize("there", [sshd.OwnTaskGroup(sshd.SHARED), sshd.OwnTaskGroup(sshd.APART)])
def test_without_a_group_commands_run_unchanged(state, there, monkeypatch):
    monkeypatch.setattr(sshd, "own_task_group", lambda: there)
    sshd.make_task_group(state, 2)
    assert sshd.task_group_kind(state) == there.kind
    assert subprocess.run((*sshd.in_task_group(state), "sh", "-c", "exit 7")).returncode == 7


def test_a_hierarchy_that_takes_no_group_leaves_sessions_apart(state, tmp_path, monkeypatch):
    (tmp_path / "cg").write_text("")  # a file: no directory can be made in it
    there = sshd.OwnTaskGroup(sshd.APART, tmp_path / "cg")
    monkeypatch.setattr(sshd, "own_task_group", lambda: there)
    sshd.make_task_group(state, 2)
    assert sshd.task_group_kind(state) == sshd.APART
