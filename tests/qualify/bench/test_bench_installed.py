"""The external tools are found on PATH or where the user says."""

import os
from pathlib import Path

import pytest

from netlab.errors import BadInput
from netlab.qualify.bench.installed import find_tools


def program(directory: Path, name: str, says: str) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_tools_are_found_on_path_and_by_their_variables(tmp_path):
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "iperf3", "iperf 3.99")
    newer = program(tmp_path, "my-nuttcp", "nuttcp-9")
    environment = {"PATH": str(tmp_path / "bin"), "NETLAB_NUTTCP": str(newer)}
    found = {one.tool.name: one for one in find_tools(environment=environment)}
    assert set(found) == {"iperf3", "nuttcp"}
    assert found["iperf3"].version == "iperf 3.99"
    assert found["nuttcp"].program == str(newer)
    assert [one.tool.name for one in find_tools(("nuttcp",), environment)] == ["nuttcp"]


@pytest.mark.parametrize(
    ("wanted", "more", "where"),
    [
        (("iperf9",), {}, "iperf9"),
        (("iperf2",), {}, "NETLAB_IPERF2"),
        ((), {"NETLAB_IPERF3": "/nowhere/iperf3"}, "NETLAB_IPERF3"),
    ],
)
def test_a_tool_that_is_asked_for_and_not_there_is_bad_input(tmp_path, wanted, more, where):
    with pytest.raises(BadInput, match=where):
        find_tools(wanted, {"PATH": str(tmp_path), **more})


def test_the_installed_iperf3_says_its_version():
    (found,) = find_tools(("iperf3",), dict(os.environ))
    assert found.version.startswith("iperf 3")
