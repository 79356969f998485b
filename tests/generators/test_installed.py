"""A host has a tool, lacks it, or has another program of its name."""

import pytest
from local_host import LocalHost

from netlab.errors import HostError
from netlab.generators.installed import require, tool_named, version_text, versions

SAYS = {
    "iperf3": ("iperf3", "iperf 3.16 (cJSON 1.7.15)"),
    "iperf2": ("iperf", "iperf version 2.2.0 (10 April 2024) pthreads"),
    "nuttcp": ("nuttcp", "nuttcp-8.1.4"),
}


@pytest.fixture
def place(tmp_path):
    """A directory of programs: a host's whole PATH, with the system's shell."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "timeout", "head"):
        (directory / name).symlink_to(f"/usr/bin/{name}")
    return directory


@pytest.fixture
def host(tmp_path, place):
    with LocalHost(tmp_path / "home", path=str(place)) as host:
        yield host


def program(place, name: str, script: str) -> None:
    path = place / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_each_tool_is_identified_by_its_version_output(host, place):
    for file, line in SAYS.values():
        program(place, file, f"echo '{line}'; echo 'more'; exit 1")
    assert versions(host, SAYS) == {name: line for name, (_, line) in SAYS.items()}


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("echo 'iperf version 2.1.8 (12 August 2022) pthreads'", "printed 'iperf version 2.1.8"),
        ("echo nonsense", "printed 'nonsense'"),
        ("exit 0", "printed nothing"),
        ("head -c 100000 /dev/zero", "printed"),
    ],
)
def test_another_program_of_that_name_is_refused(host, place, script, what):
    program(place, "iperf3", script)
    with pytest.raises(HostError, match="is not iperf3: its version option printed") as caught:
        versions(host, ["iperf3"])
    assert what in str(caught.value) and "package iperf3" in str(caught.value)


def test_a_tool_that_is_missing_names_its_host_and_its_package():
    found = {"iperf2": {"left": SAYS["iperf2"][1], "right": None}}
    require({"netlab"}, found)
    with pytest.raises(HostError, match=r"^right: iperf2 is not installed; .* is iperf$"):
        require({"netlab", "iperf2"}, found)


def test_two_versions_are_recorded_with_their_hosts():
    assert version_text(None) is None
    assert version_text({"left": "iperf 3.1", "right": "iperf 3.1"}) == "iperf 3.1"
    assert version_text({"left": "iperf 3.1", "right": "iperf 3.2"}) == (
        "left: iperf 3.1, right: iperf 3.2"
    )


def test_no_other_generator_is_known():
    assert {tool_named(name).name for name in SAYS} == set(SAYS)
    for name in ("netlab", "neper", "curl"):
        with pytest.raises(KeyError):
            tool_named(name)
