"""Congestion controls on this machine, and on a double whose kernel lists are files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from local_host import LocalHost
from refusals import refused

from netlab import core
from netlab import study as studies
from netlab.errors import HostError, NetlabError, Unsupported
from netlab.experiment.cc_session import (
    CcSession,
    CongestionControl,
    can_load,
    check_lab_controls,
    open_cc_session,
    words_for,
)
from netlab.files import paths
from netlab.study import Stack

LISTS = Path("/proc/sys/net/ipv4")


def lists() -> list[list[str]]:
    names = ("available", "allowed")
    return [(LISTS / f"tcp_{name}_congestion_control").read_text().split() for name in names]


def kernels_own() -> list[list[str]]:
    """The kernel's lists without congestion controls loaded by netlab."""
    return [[name for name in names if not name.startswith("nl_")] for names in lists()]


@pytest.fixture
def host(tmp_path) -> LocalHost:
    with LocalHost(tmp_path / "home") as host:
        yield host


def test_a_study_has_its_stacks_and_the_machine_is_as_before(host):
    before = kernels_own()
    defined = {"wad": Stack(law="aimd", increase=6.0, decrease=0.3, max_ssthresh_segments=100)}
    names = ("wad", "reno", "fast", "wad")
    with open_cc_session(host, str(core.gensink_path()), names, defined, version="9.9") as session:
        assert list(session.controls) == ["fast", "reno", "wad"]
        assert session.controls["reno"].kernel_name == "reno"
        assert session.controls["reno"].text() == f"kernel reno (Linux {os.uname().release})"
        wad = session.controls["wad"]
        assert wad.kernel_name in lists()[0] and wad.kernel_name in lists()[1]
        assert wad.text().startswith("bpf aimd 1 (netlab 9.9, sha256 ")
        assert wad.text().endswith(
            "), increase_millionths 6000000, decrease_millionths 300000, max_ssthresh_segments 100"
        )
        assert session.kernel_names("wad+reno") == f"{wad.kernel_name}+reno"
        assert session.text("wad+reno") == f"{wad.text()} + {session.controls['reno'].text()}"
        assert session.knobs == ()
        brought = {
            control.kernel_name for control in session.controls.values() if control.source == "bpf"
        }
        assert len(brought) == 2
    assert not brought & {name for names in lists() for name in names}
    assert kernels_own() == before


def test_they_are_unloaded_when_the_study_fails(host):
    brought = []
    gensink = str(core.gensink_path())
    with pytest.raises(KeyError), open_cc_session(host, gensink, ("scalable",), {}) as session:
        brought.append(session.controls["scalable"].kernel_name)
        assert brought[0] in lists()[0]
        raise KeyError
    assert brought[0] not in lists()[0]


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def pretended(tmp_path) -> LocalHost:
    """A host with kernel lists, modules and a ``gensink`` set by the test."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    program(bin_dir / "cat", f'exec /bin/cat {tmp_path}/"$(basename "$1")"')
    program(bin_dir / "modprobe", '[ "$1 $2" = "-n -q" ] && [ "$3" = tcp_highspeed ]')
    program(bin_dir / "modinfo", "echo 0123456789ABCDEF")
    (tmp_path / "tcp_available_congestion_control").write_text("reno bbr cubic\n")
    (tmp_path / "tcp_allowed_congestion_control").write_text("reno bbr\n")
    with LocalHost(tmp_path / "home", f"{bin_dir}:{os.environ['PATH']}") as host:
        host.bin_dir = bin_dir
        yield host


def test_a_module_is_a_knob_of_the_tuning(pretended):
    pretended.__dict__["is_root"] = True
    with open_cc_session(pretended, "gensink", ("highspeed", "cubic"), {}) as session:
        control = session.controls["highspeed"]
        assert (control.source, control.kernel_name) == ("module", "highspeed")
        release = os.uname().release
        assert control.version == f"highspeed (Linux {release}, srcversion 0123456789ABCDEF)"
        assert [(knob.kind, knob.name, knob.value) for knob in session.knobs] == [
            ("module", "tcp_highspeed", "loaded")
        ]


def test_a_modprobe_without_a_dry_run_is_asked_for_what_a_module_needs(pretended):
    """As busybox has it."""
    refusal = 'case "$1" in -n) echo "invalid option -- n" >&2; exit 1;; esac'
    program(pretended.bin_dir / "modprobe", f'{refusal}\n[ "$1 $2" = "-D tcp_highspeed" ]')
    assert can_load(pretended, "tcp_highspeed")
    assert not can_load(pretended, "tcp_none")


def test_a_user_without_root_is_permitted_the_studys_controls(pretended):
    """In the order of the kernel's list, in which the knob reads back."""
    pretended.__dict__["is_root"] = False
    with open_cc_session(pretended, "gensink", ("highspeed", "cubic"), {}) as session:
        assert [(knob.name, knob.value) for knob in session.knobs] == [
            ("tcp_highspeed", "loaded"),
            ("net.ipv4.tcp_allowed_congestion_control", "reno bbr cubic highspeed"),
        ]
    with open_cc_session(pretended, "gensink", ("reno",), {}) as session:
        assert session.knobs == ()


def holder(pretended: LocalHost, *lines: str) -> str:
    """A `gensink` double: prints its first line at once, and one more at each request."""
    first, *rest = lines
    said = "".join(f"read request; echo '{line}'; " for line in rest)
    program(pretended.bin_dir / "gensink", f"echo '{first}'; {said} while read request; do :; done")
    return str(pretended.bin_dir / "gensink")


READY = '{"event":"ready","supported":true,"reason":null}'
LOADED = '{"event":"loaded","name":"nl_fast_00","cc":"fast","revision":1,"sha256":"ab","gamma":1}'


@pytest.mark.parametrize(
    ("lines", "kind", "said"),
    [
        (
            ['{"event":"ready","supported":false,"reason":"unsupported: built without BPF"}'],
            Unsupported,
            "here: unsupported: built without BPF",
        ),
        (['{"event":"pong","t_ns":1}'], HostError, "here: gensink cc answered"),
        (
            [READY, '{"event":"error","code":"refused","message":"only from root"}'],
            NetlabError,
            "here: fast: only from root",
        ),
    ],
)
def test_a_refused_load_names_the_host(pretended, lines, kind, said):
    pretended.__dict__["is_root"] = True
    with (
        pytest.raises(kind, match=said),
        open_cc_session(pretended, holder(pretended, *lines), ("fast",), {}),
    ):
        pass


def test_a_name_that_stays_listed_is_waited_for_and_reported(pretended, tmp_path):
    pretended.__dict__["is_root"] = True
    clock = iter(range(100))
    listed = tmp_path / "tcp_available_congestion_control"
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            listed.write_text("reno\n")

    binary = holder(pretended, READY, LOADED)
    times = {"clock": lambda: next(clock), "sleep": sleep}
    with open_cc_session(pretended, binary, ("fast",), {}, **times):
        listed.write_text("reno nl_fast_00\n")
    assert len(waits) == 3
    with (
        pytest.raises(HostError, match="still lists nl_fast_00 after they were unloaded"),
        open_cc_session(pretended, binary, ("fast",), {}, **times),
    ):
        listed.write_text("reno nl_fast_00\n")


def test_parameters_are_sent_in_millionths():
    fast = Stack(law="fast", alpha_packets=30, gamma=0.25)
    assert words_for(fast) == {"alpha_packets": 30, "gamma_millionths": 250_000}
    assert words_for(Stack(law="aimd", decrease=0.3)) == {"decrease_millionths": 300_000}
    assert words_for(Stack(law="highspeed")) == {}


def test_hosts_with_the_same_control_have_the_same_description():
    """The kernel's name differs between hosts; the description does not."""
    one, other = (
        CongestionControl("fast", f"nl_fast_{i}", "bpf", "fast 1", {"alpha": 2}) for i in (0, 1)
    )
    assert one.text() == other.text() == "bpf fast 1, alpha 2"
    assert CcSession({"fast": one}).kernel_names("fast+fast") == "nl_fast_0+nl_fast_0"


def test_a_lab_is_refused_before_it_is_made_if_the_build_lacks_bpf(tmp_path):
    study = studies.load(paths.study_file("slac-2003"))
    kernel = tmp_path / "available"
    kernel.write_text("reno cubic\n")
    check_lab_controls(study, None, available=kernel)
    with refused(Unsupported, "E-RUN-017", match=r"without BPF: no clang; install .*"):
        check_lab_controls(study, "no clang; install it", available=kernel)
    plain = studies.load(paths.study_file("openlab-2003"))
    check_lab_controls(plain, "no clang; install it", available=kernel)
