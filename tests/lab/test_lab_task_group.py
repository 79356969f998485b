"""A lab whose ends autogroups would separate gets a task group; elsewhere they share one."""

import subprocess

import pytest

from netlab.lab import reaper, task_group

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
    assert task_group.own_task_group(proc) == task_group.OwnTaskGroup(task_group.APART, hierarchy)


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
    assert task_group.own_task_group(machine(mounts, own, **files)[0]) == task_group.OwnTaskGroup(
        task_group.SHARED
    )


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
    assert task_group.own_task_group(proc) == task_group.OwnTaskGroup(task_group.APART)


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
    there = task_group.OwnTaskGroup(task_group.APART, hierarchy)
    monkeypatch.setattr(task_group, "own_task_group", lambda: there)
    task_group.make_task_group(state, 3)
    assert (hierarchy / "nlab-lab1" / "cpu.shares").read_text() == "3072"
    assert not (hierarchy / "nlab-lab1" / "cpu.weight").exists()
    assert task_group.task_group_kind(state) == task_group.OWN_GROUP

    said = subprocess.run(
        (*task_group.in_task_group(state), "echo", "a b", "$c"), capture_output=True
    )
    assert said.stdout == b"a b $c\n"
    assert (hierarchy / "nlab-lab1" / "cgroup.procs").read_text() == "0\n"


@pytest.mark.parametrize(
    "there", [task_group.OwnTaskGroup(task_group.SHARED), task_group.OwnTaskGroup(task_group.APART)]
)
def test_without_a_group_commands_run_unchanged(state, there, monkeypatch):
    monkeypatch.setattr(task_group, "own_task_group", lambda: there)
    task_group.make_task_group(state, 2)
    assert task_group.task_group_kind(state) == there.kind
    assert subprocess.run((*task_group.in_task_group(state), "sh", "-c", "exit 7")).returncode == 7


def test_a_hierarchy_that_takes_no_group_leaves_sessions_apart(state, tmp_path, monkeypatch):
    (tmp_path / "cg").write_text("")  # a file: no directory can be made in it
    there = task_group.OwnTaskGroup(task_group.APART, tmp_path / "cg")
    monkeypatch.setattr(task_group, "own_task_group", lambda: there)
    task_group.make_task_group(state, 2)
    assert task_group.task_group_kind(state) == task_group.APART
