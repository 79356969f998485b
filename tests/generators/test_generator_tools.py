"""Each tool gets the same transfer as its own arguments, and its output is parsed."""

from dataclasses import replace
from pathlib import Path

import pytest
from local_host import LocalHost

from netlab.errors import HostError, RunError
from netlab.generators.ends import flow_of, parse_answers
from netlab.generators.installed import require, tool_named, version_text, versions
from netlab.generators.tools import TOOLS, TransferRequest
from netlab.measure.exchange import Request

RECORDED = Path(__file__).parents[1] / "outputs" / "recorded"
REQUEST = Request(4, 131072, "cubic", False, "copy", 0, 2000, 100, False)
BY_NAME = {tool.name: tool for tool in TOOLS}


def transfer(streams: int = 4, **options) -> TransferRequest:
    ports = (12000, 12001)
    return TransferRequest("198.18.0.2", *ports, streams, 2, 131072, "cubic", threads=2, **options)


def after(words: tuple[str, ...], *options: str) -> str:
    """The value of the first of some options, separate or attached."""
    for option in options:
        for at, word in enumerate(words):
            if word == option:
                return words[at + 1]
            if word.startswith(option):
                return word.removeprefix(option).removeprefix("=")
    raise AssertionError(f"none of {options} in {words}")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_client_gets_the_same_transfer(tool):
    _, words = tool.arguments(transfer())
    assert "198.18.0.2" in words
    flows, length = ("-F", "-B") if tool.name == "neper" else ("-N", "-l")
    assert after(words, "-P" if tool.name.startswith("iperf") else flows) == "4"
    assert after(words, length) == "131072"
    seconds = {"nuttcp": "-T", "neper": "-l"}.get(tool.name, "-t")
    assert after(words, seconds) == "2"
    if tool.name != "nuttcp":
        assert after(
            words, "-C" if tool.name.startswith("iperf3") else "-Z", "--congestion-control"
        ) == ("cubic")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_no_template_is_left_unfilled_and_no_tool_sets_its_own_buffers(tool):
    for send, receive in (("copy", "copy"), ("sendfile", "discard")):
        for words in tool.arguments(transfer(send=send, receive=receive)):
            assert not any("{" in word for word in words)
            assert not any(word.startswith("-w") for word in words)
    assert "12000" in " ".join(tool.arguments(transfer())[0])


@pytest.mark.parametrize(
    ("name", "option"), [("iperf2", "-V"), ("iperf2-udp", "-V"), ("nuttcp", "-6")]
)
def test_a_tool_that_takes_ipv4_unless_asked_is_asked_for_ipv6_at_both_ends(name, option):
    of_ipv6 = replace(transfer(), address="2001:db8::2")
    assert all(option in words for words in BY_NAME[name].arguments(of_ipv6))
    assert not any(option in words for words in BY_NAME[name].arguments(transfer()))


def test_a_tool_spares_itself_copies_where_a_study_asks_for_it():
    iperf3, neper = BY_NAME["iperf3"], BY_NAME["neper"]
    assert "-Z" not in iperf3.arguments(transfer(receive="discard"))[1]
    assert "-Z" in iperf3.arguments(transfer(send="sendfile"))[1]
    assert "--skip-rx-copy" not in neper.arguments(transfer())[0]
    assert "--skip-rx-copy" in neper.arguments(transfer(receive="discard"))[0]


def test_the_server_of_iperf_does_not_exit_after_its_last_stream():
    tool = BY_NAME["iperf2"]
    assert tool.server_stays
    assert "-P" not in tool.arguments(transfer())[0]


METER = {"window": None, "total": None}


def sink_of(name: str, client: str, server: str, streams: int) -> dict:
    """The sink's end of a run without intervals."""
    asked = transfer(streams)
    answers = parse_answers(BY_NAME[name], client, server, asked)
    return flow_of(answers, REQUEST, asked.interval_s, METER, METER).sink


def test_counts_of_a_sender_are_refused():
    text = (RECORDED / "iperf2-tcp.txt").read_text()
    with pytest.raises(RunError, match="receiver"):
        sink_of("iperf2", text, text, 1)


def test_another_number_of_streams_than_asked_for_is_refused():
    with pytest.raises(RunError, match="4 streams in place of 20"):
        sink_of("iperf3", *[(RECORDED / "iperf3-parallel.json").read_text()] * 2, 20)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("iperf3", (RECORDED / "iperf3-refused.json").read_text()),
        ("iperf2", ""),
        ("nuttcp", "Segmentation fault"),
        ("neper", "VERSION=1.1.0\nlocal_throughput=0\n"),
    ],
)
def test_output_without_a_result_is_a_failed_run(name, text):
    with pytest.raises(RunError, match="printed damaged output"):
        sink_of(name, text, text, 1)


def test_neper_is_read_in_bits_per_second_and_its_total_is_an_estimate():
    sink = sink_of("neper", "", "local_throughput=8000000000\nremote_throughput=0\n", 4)
    assert (sink["total_bytes"], sink["unsure_bytes"]) == (2 * 10**9, 4 * 10**7)
    assert sink["window"] == {"t0_ns": 0, "t1_ns": 2 * 10**9, "bytes": 2 * 10**9}


SAYS = {
    "neper": ("tcp_stream", "neper 1.1.0"),
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
    assert what in str(caught.value) and "package of it is iperf3" in str(caught.value)


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


def test_a_variable_names_the_program_of_a_tool(monkeypatch):
    monkeypatch.setenv("NETLAB_NEPER", "/opt/tcp_stream")
    assert tool_named("neper").arguments(transfer()) == BY_NAME["neper"].arguments(transfer())
    assert tool_named("neper").program == "/opt/tcp_stream"


def test_no_other_generator_is_known():
    assert {tool_named(name).name for name in SAYS} == set(SAYS)
    for name in ("netlab", "curl"):
        with pytest.raises(KeyError):
            tool_named(name)
