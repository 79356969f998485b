"""The external tools are found on PATH or where the user says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from netlab.errors import BadInput, NetlabError
from netlab.qualify.bench import directory_of, find_tools
from netlab.results import campaign_files


def program(directory: Path, name: str) -> Path:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_tools_are_found_on_path_and_by_their_variables(tmp_path):
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "iperf3")
    newer = program(tmp_path, "my-nuttcp")
    environment = {"PATH": str(tmp_path / "bin"), "NETLAB_NUTTCP": str(newer)}
    assert find_tools(environment=environment) == ["iperf3", "nuttcp"]
    assert find_tools(("nuttcp",), environment) == ["nuttcp"]
    assert find_tools(("iperf3",), dict(os.environ)) == ["iperf3"]


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


def test_without_a_tool_there_is_nothing_to_compare_with(tmp_path):
    with pytest.raises(NetlabError, match="no tool"):
        find_tools(environment={"PATH": str(tmp_path)})


def test_only_a_benchmark_that_was_ended_early_goes_on(tmp_path):
    assert directory_of(tmp_path) is None
    (old := tmp_path / "2026-01-05T100000Z").mkdir()
    assert directory_of(tmp_path) == old
    (old / "bench-ratios.csv").touch()
    assert directory_of(tmp_path) is None
    (new := tmp_path / "2026-01-05T100001Z").mkdir()
    assert directory_of(tmp_path) == new


def test_a_benchmark_goes_on_in_a_directory_of_its_own_alone(tmp_path):
    """`--out` may have photographs, links and newer folders of other programs beside it."""
    photographs = tmp_path / "zz-photographs"
    photographs.mkdir()
    (photographs / "2026.jpg").write_bytes(b"")
    dated = tmp_path / "2099-01-01T000000Z"
    dated.mkdir()
    (dated / "2099.jpg").write_bytes(b"")
    assert directory_of(tmp_path) is None
    own = tmp_path / "2026-11-29T081500Z"
    (own / "heats").mkdir(parents=True)
    (tmp_path / "2098-01-01T000000Z").symlink_to(own)
    for at, held in enumerate(("runs/march.parquet", "campaigns/spring.md", "heats/oven.txt")):
        file = tmp_path / f"2097-01-01T00000{at}Z" / held
        file.parent.mkdir(parents=True)
        file.write_text("of a runner, a campaigner and a cook")
    campaign = campaign_files.CampaignLog("20970101T000000Z", "", "", "another", "", "0.1.0")
    campaign_files.write_log(tmp_path / "2096-01-01T000000Z", campaign)
    assert directory_of(tmp_path) == own
    campaign_files.write_log(own / "heats", replace(campaign, study="bench"))
    (own / "heats" / "runs").mkdir()
    assert directory_of(tmp_path) == own
    (own / "bench-ratios.csv").touch()
    assert directory_of(tmp_path) is None
