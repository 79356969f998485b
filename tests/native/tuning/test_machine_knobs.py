"""Governor, interrupts and PCI configuration, on a machine that pretends to have them.

Its trees of /sys and /proc are directories; v0 has a card of four interrupts there.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from native.tuning.conftest import Namespace, PretendedMachine, begun, statuses

from netlab.tuning.knobs import Knob
from netlab.tuning.profiles import Profile
from netlab.tuning.session import TuningSession

READ_REQUEST = "knob=pci name=max-read-request interface=v0"
IRQ = "knob=irq interface=v0"
MMRBC = "knob=pci name=mmrbc interface=v0"
INTERRUPTS = {24: "v0-tx-0", 25: "v0-rx-0", 26: "v0-rx-1", 30: "v0"}
"""Handlers of the interrupts; number 27 is not requested."""
GOVERNOR = Knob(kind="governor", value="performance", source="a guide")


def affinity(value: str) -> Knob:
    return Knob(kind="irq", name="affinity", value=value, source="a guide")


def session(namespace: Namespace, *knobs: Knob, **options: Any) -> TuningSession:
    profile = Profile(name="p", title="t", source="s", lineage=("p",), notes=(), items=knobs)
    return TuningSession(namespace.tune(ready=False), profile, "v0", hold_s=0, **options)


def resolved(namespace: Namespace, value: str) -> dict:
    made = session(namespace)
    assert made.ready["event"] == "ready"
    return made.resolve(affinity(value))


class Machine(PretendedMachine):
    """Trees of four CPUs and of one card."""

    def __init__(self, root: Path):
        super().__init__(root)
        for cpu in range(4):
            self.write(f"cpu/cpu{cpu}/cpufreq/scaling_governor", "powersave")
            self.write(f"cpu/cpu{cpu}/cpufreq/scaling_available_governors", "performance powersave")
        self.write("cpu/cpufreq/boost", "1")
        self.write("online", "0-3")
        self.write("first_namespace", "1000")
        device = root / "devices" / "0000:01:00.0"
        for number in (*INTERRUPTS, 27):
            self.write(f"devices/{device.name}/msi_irqs/{number}", "msix")
            self.write(f"irq/{number}/smp_affinity_list", "0-3")
        for number, handler in INTERRUPTS.items():
            (root / "irq" / str(number) / handler).mkdir()
        self.write(f"devices/{device.name}/local_cpulist", "2-3")
        (root / "bus" / "pci").mkdir(parents=True)
        (device / "subsystem").symlink_to(root / "bus" / "pci")
        (root / "net" / "v0").mkdir(parents=True)
        (root / "net" / "v0" / "device").symlink_to(device)
        self.device = device
        self.configure()

    def configure(self, express: int = 0x2850, pci_x: int = 0x0000, most: int = 2) -> None:
        """Configuration space: PCI-X at 0x50, then PCI Express at 0x60."""
        space = bytearray(256)
        space[0x06], space[0x34] = 0x10, 0x50
        space[0x50:0x58] = struct.pack("<BBHI", 0x07, 0x60, pci_x, most << 21)
        space[0x60:0x62] = bytes((0x10, 0x00))
        space[0x68:0x6A] = struct.pack("<H", express)
        (self.device / "config").write_bytes(space)

    def word(self, at: int) -> int:
        return struct.unpack_from("<H", (self.device / "config").read_bytes(), at)[0]

    def governors(self) -> list[str]:
        return [
            (self.root / f"cpu/cpu{cpu}/cpufreq/scaling_governor").read_text().strip()
            for cpu in range(4)
        ]

    def affinity(self) -> dict[int, str]:
        return {
            number: (self.root / f"irq/{number}/smp_affinity_list").read_text().strip()
            for number in INTERRUPTS
        }


def test_governors_that_differ_are_reverted_each(pretended, machine):
    mixed = ["powersave", "performance", "performance", "powersave"]
    for cpu, name in enumerate(mixed):
        machine.write(f"cpu/cpu{cpu}/cpufreq/scaling_governor", name)
    with session(pretended, GOVERNOR) as tuned:
        assert tuned.result.applied[0]["old"] == "powersave:0,3 performance:1-2"
        assert machine.governors() == ["performance"] * 4
    assert machine.governors() == mixed


def test_a_governor_that_the_cpus_lack_is_unsupported_with_those_they_offer(pretended, machine):
    with session(pretended, GOVERNOR.model_copy(update={"value": "schedutil"})) as tuned:
        (entry,) = tuned.result.unsupported
        assert entry["reason"] == (
            "CPU 0 has no governor schedutil; it offers performance powersave"
        )
    assert machine.governors() == ["powersave"] * 4


def test_the_governor_belongs_to_the_whole_machine(pretended, machine):
    (machine.root / "first_namespace").unlink()
    (change,) = session(pretended, GOVERNOR).plan()
    assert (change.old, change.supported) == ("powersave", False)
    assert change.reason.startswith("belongs to the whole machine")
    answer = begun(pretended).ask("set knob=governor name=0 value=performance")
    assert answer["status"] == "unsupported"


@pytest.mark.parametrize("shares_network", [True, False])
def test_a_container_with_its_machines_network_is_named_before_a_change(
    pretended, machine, shares_network
):
    """Its journal and its guard end with it, and the machine's settings do not."""
    said: list[str] = []
    with session(pretended, GOVERNOR, on_wait=said.append):
        assert said == [], "not a container"
    if not shares_network:
        (machine.root / "first_namespace").unlink()
    _, *prefix = pretended.prefix
    pretended.prefix = ("unshare", "--pid", "--fork", "--mount-proc", *prefix)

    def check(text: str) -> None:
        said.append(text)
        assert machine.governors() == ["powersave"] * 4

    with session(pretended, GOVERNOR, on_wait=check, host="there"):
        assert len(said) == shares_network
    assert all(text.startswith("there: this is a container") for text in said)


def test_the_most_that_a_device_takes_is_a_number_of_the_plan(namespace):
    most = Knob(kind="channels", name="rx", value="max", source="a guide")
    none = Knob(kind="ring", name="rx", value="max", source="a guide")
    shown = namespace.sh("ethtool -l v0").split("Current")
    number = re.search(r"RX:\s+(\d+)", shown[0])[1]
    with session(namespace, most, none) as tuned:
        changed, missing = tuned.plan()
        assert (changed.new, changed.knob.note) == (number, "max on this host")
        assert not missing.supported and "no ring sizes" in missing.reason
        assert f"RX:\t\t{number}\n" in namespace.sh("ethtool -l v0").split("Current")[1]
    assert namespace.sh("ethtool -l v0").split("Current") == shown


def test_a_setting_of_the_whole_machine_is_put_back(pretended, machine):
    machine.write("sys/vm/stat_interval", "1")
    file = machine.root / "sys/vm/stat_interval"
    knob = Knob(kind="sysctl", name="vm.stat_interval", value="2", source="a guide")
    with session(pretended, knob):
        assert int(file.read_text()) == 2
    assert int(file.read_text()) == 1


def test_a_revert_leaves_a_governor_that_somebody_else_changed(pretended, machine):
    with session(pretended, GOVERNOR) as tuned:
        machine.write("cpu/cpu2/cpufreq/scaling_governor", "ondemand")
        (drift,) = tuned.drift()
        assert (drift.name, drift.found) == ("2", "ondemand")
    (conflict,) = tuned.result.conflicts
    assert (conflict["name"], conflict["found"]) == ("2", "ondemand")
    assert machine.governors() == ["powersave", "powersave", "ondemand", "powersave"]


def test_governors_that_were_written_by_half_are_recovered(pretended, machine):
    """Both processes die between the record of a write and the write."""
    changes = (f"knob=governor name={cpu} value=performance" for cpu in (0, 1))
    channel = begun(pretended, *changes)
    channel.kill_both()
    (journal,) = pretended.journals()
    assert journal.read_text().count(" readback=performance\n") == 2
    journal.write_text(journal.read_text().replace(" readback=", " wanted="))
    machine.write("cpu/cpu1/cpufreq/scaling_governor", "powersave")
    answers = pretended.tune().ask_all("recover", "reverted_all")
    assert statuses(answers) == ["restored", "restored"]
    assert machine.governors() == ["powersave"] * 4


def test_queues_are_spread_over_cpus_and_the_other_interrupt_stays(pretended, machine):
    with session(pretended, affinity("spread")) as tuned:
        (entry,) = tuned.result.applied
        assert (entry["old"], entry["value"], entry["readback"]) == (
            *("0-3*4", "0*2/1/0-3", "0*2/1/0-3"),
        )
        assert machine.affinity() == {24: "0", 25: "0", 26: "1", 30: "0-3"}
        assert tuned.drift() == ()
        (change,) = tuned.plan()
        assert (change.old, change.new) == ("0-3*4", "0*2/1/0-3")
        assert change.knob.note == "spread on this host"
    assert set(machine.affinity().values()) == {"0-3"}
    assert (machine.root / "irq/27/smp_affinity_list").read_text() == "0-3\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("local", "2*2/3/0-3"),
        ("1", "1*4"),
        ("3,2,1", "1-3*4"),
        ("0/1/2/3", "0..3"),
        ("0..2/2*1", "0..2/2"),
    ],
)
def test_a_value_of_interrupts_is_resolved_to_cpus(pretended, value, text):
    assert resolved(pretended, value)["value"] == text


def test_another_number_of_interrupts_is_unsupported(pretended, machine):
    answer = resolved(pretended, "0/1")
    assert not answer["supported"]
    assert answer["reason"] == "v0 has 4 interrupts, and the value has CPUs for 2"


def test_a_card_without_message_signalled_interrupts_has_its_one(pretended, machine):
    shutil.rmtree(machine.device / "msi_irqs")
    machine.write(f"devices/{machine.device.name}/irq", "30")
    assert resolved(pretended, "spread")["value"] == "0"


def test_an_interrupt_that_is_gone_ends_its_entry(pretended, machine):
    """A driver requests others when queues or rings are changed."""
    channel = begun(pretended, f"{IRQ} name=26 value=1")
    (machine.device / "msi_irqs/26").unlink()
    (answer, total) = channel.ask_all("revert", "reverted_all")
    assert (answer["status"], total["absent"]) == ("conflict", 0)
    assert pretended.journals() == []


def test_a_virtio_card_has_the_bus_of_its_parent(pretended, machine):
    child = machine.device / "virtio0"
    child.mkdir()
    (machine.root / "bus/virtio").mkdir()
    (child / "subsystem").symlink_to(machine.root / "bus/virtio")
    link = machine.root / "net/v0/device"
    link.unlink()
    link.symlink_to(child)
    assert pretended.tune().ask(f"read {READ_REQUEST}")["value"] == "512"


def test_the_read_request_alone_is_changed_and_reverted(pretended, machine):
    channel = begun(pretended)
    assert channel.ask("read knob=pci name=max-payload interface=v0")["value"] == "512"
    answer = channel.ask(f"set {READ_REQUEST} value=4096")
    assert (answer["status"], answer["old"]) == ("applied", "512")
    assert machine.word(0x68) == 0x5850
    assert channel.ask_all("revert", "reverted_all")[0]["status"] == "restored"
    assert machine.word(0x68) == 0x2850


def test_the_guard_restores_the_memory_read_byte_count_of_pci_x(pretended, machine):
    channel = begun(pretended)
    answer = channel.ask(f"set {MMRBC} value=2048")
    assert (answer["status"], answer["old"], machine.word(0x52)) == ("applied", "512", 0x0008)
    channel.kill()
    pretended.settled()
    assert machine.word(0x52) == 0


LACKING = [
    ("rm -r cpu/*/cpufreq", "list knob=governor", "the CPUs have no frequency governor"),
    ("mkdir irq/30/ahci", f"list {IRQ}", "another device shares its interrupt"),
    ("rmdir irq/*/v0*", f"list {IRQ}", "v0 has no interrupts; a card that is down has none"),
    ("cp -r irq/27 irq/99", f"set {IRQ} name=99 value=1", "the interface has no interrupt 99"),
    ("rm net/v0/device", f"list {IRQ}", "v0 is not a device on a PCI bus"),
    ("rm net/v0/device", f"read {READ_REQUEST}", "v0 is not a device on a PCI bus"),
    ("", f"set {MMRBC} value=4096", "the device takes 512 to 2048 B"),
    ("", "set knob=pci name=max-payload interface=v0 value=128", "set by the system"),
    (
        "head -c 256 /dev/zero >net/v0/device/config",
        f"read {MMRBC}",
        "the device is not one of PCI-X",
    ),
    ("head -c 64 /dev/zero >net/v0/device/config", f"read {MMRBC}", "no privilege"),
]
"""What is done in the machine's directory, a request, and the reason that it is answered with."""


@pytest.mark.parametrize(("script", "line", "reason"), LACKING)
def test_a_knob_that_is_not_there_or_not_to_be_set_has_a_reason(
    pretended, machine, script, line, reason
):
    subprocess.run(("sh", "-e", "-c", script), cwd=machine.root, check=True)
    answer = begun(pretended).ask(line)
    assert reason in answer["reason"]
    assert answer.get("status", "unsupported") == "unsupported"
    assert not (answer.get("supported") and answer.get("writable"))


def test_a_ring_of_capabilities_ends(pretended, machine):
    space = bytearray((machine.device / "config").read_bytes())
    space[0x51], space[0x61] = 0x50, 0x50
    space[0x60] = 0x05
    (machine.device / "config").write_bytes(space)
    assert not pretended.tune().ask(f"read {READ_REQUEST}")["supported"]


@pytest.mark.parametrize("value", ["0/", "0-3-5", "3-1", "1,1", "near", "4..2"])
def test_other_cpus_of_interrupts_are_refused_before_a_host_is_asked(value):
    with pytest.raises(ValueError, match="CPU"):
        affinity(value)
