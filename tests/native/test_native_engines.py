"""Every engine moves every byte it counts, by each way of sending and receiving it has."""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import subprocess
import time
from itertools import product
from pathlib import Path

import pytest
from native.agent_peers import control, hello
from native.late_ends import late_ends_ms
from native.ledger import assert_ledger_closes
from native.seccomp import refusing
from native.spoken_agent import Agent, request, wait_for_data
from waiting import until

SENDS = ("copy", "zerocopy", "sendfile", "splice")
RECEIVES = ("copy", "discard", "splice", "zerocopy")
ENGINES = {
    "blocking": (SENDS, RECEIVES), "epoll": (SENDS, RECEIVES), "plain": (("copy",), ("copy",)),
}  # fmt: skip
WAYS = [(engine, *way) for engine, ways in ENGINES.items() for way in product(*ways)]
PAIRS = [(engine, *way) for engine, ways in ENGINES.items() for way in zip(*ways, strict=True)]
"""Each way once, where all combinations would take too long."""


def assert_says_what_was_used(sink, gen, engine, send, receive, streams):
    for end in (sink, gen):
        assert end["engine"] == engine
        cpus = os.sysconf("SC_NPROCESSORS_ONLN")
        assert end["threads"] == (min(cpus, streams) if engine == "epoll" else streams)
    assert (gen["send"], sink["receive"]) == (send, receive)
    if send == "zerocopy":
        counts = gen["zerocopy"]
        assert counts["completed_bytes"] == gen["total_bytes"] >= counts["copied_bytes"]
    else:
        assert gen["zerocopy"] is None
    if receive == "zerocopy":
        counts = sink["zerocopy"]
        assert counts["mapped_bytes"] + counts["copied_bytes"] == sink["total_bytes"]
    else:
        assert sink["zerocopy"] is None


def cases():
    """Ways, and options of a run."""
    timed = {"window_ms": 100, "interval_ms": 10}
    patient = dict.fromkeys(("accept_ms", "connect_ms", "drain_ms"), 20_000)
    for way in WAYS:
        yield from ((way, {"streams": streams, "bytes": 1_000_003}) for streams in (1, 7))
        yield way, {"streams": 100, "bytes": 100_003}
    for way in PAIRS:
        yield from ((way, {"streams": streams, **timed}) for streams in (1, 100))
    others = [way for way in PAIRS if way[0] != "blocking"]
    yield from ((way, {"streams": 1000, "bytes": 100_003, **patient}) for way in others)
    for way in (*others, ("blocking", "zerocopy", "zerocopy")):
        for record_B in (1, 1000, 4096, 1_000_000):
            amount = 3001 * min(record_B, 1000)
            yield way, {"streams": 3, "bytes": amount, "record_B": record_B}


@pytest.mark.parametrize(("way", "options"), list(cases()), ids=str)
def test_every_way_moves_every_byte_and_is_named(agent, way, options):
    ends = dict(zip(("engine", "send", "receive"), way, strict=True))
    sink, gen = agent.transfer(60, **ends, **options)
    assert_ledger_closes(sink, gen)
    assert_says_what_was_used(sink, gen, *way, options["streams"])
    if "bytes" in options:
        assert {row["bytes"] for row in gen["per_stream"]} == {options["bytes"]}


def connect_two_ends(agent, gen, sink):
    """A run whose ends have engines of their own."""
    ends = agent.transfer(sink=sink, gen=gen, streams=5, bytes=2_000_003)
    assert_ledger_closes(*ends)
    return ends


def test_pages_that_were_sent_without_a_copy_are_mapped_at_the_sink(agent):
    """Loopback copies such a send into pages of its own, which the sink can then map."""
    sink, gen = connect_two_ends(
        agent,
        {"engine": "epoll", "send": "zerocopy", "record_B": 131_072},
        {"engine": "blocking", "receive": "zerocopy", "record_B": 131_072},
    )
    assert gen["zerocopy"]["copied_bytes"] == 10_000_015
    assert sink["zerocopy"]["mapped_bytes"] > 5_000_000


def test_auto_takes_threads_for_few_streams_and_epoll_for_many(agent):
    some = min(2 * os.cpu_count(), 33)
    for streams, engine in (
        (1, "blocking"), (some - 1, "blocking"), (some, "epoll"), (100, "epoll"),
    ):  # fmt: skip
        sink, gen = agent.transfer(engine="auto", streams=streams, bytes=10_007)
        assert_ledger_closes(sink, gen)
        assert {sink["engine"], gen["engine"]} == {engine}


@pytest.mark.parametrize(("engine", "send", "receive"), PAIRS)
def test_stop_in_the_middle_ends_both_ends(agent, engine, send, receive):
    port, token = agent.sink(engine=engine, receive=receive, streams=7, window_ms=60_000)
    agent.gen(port, token, engine=engine, send=send, streams=7, window_ms=60_000)
    wait_for_data()
    agent.say("stop run=1")
    results = agent.receive_results()
    assert {r["status"] for r in results.values()} == {"stopped"}
    for end in results.values():
        assert end["interval_sum_bytes"] == end["total_bytes"] > 0
        assert (end["code"], end["message"]) == (None, "stopped on request")


@pytest.mark.parametrize("streams", [20, 100])
def test_runs_end_in_time_on_a_busy_machine(agent, streams):
    # Other tests run meanwhile, and take a CPU for a second at times; the night is stricter.
    late_ms = late_ends_ms(agent, streams, runs=11)
    assert late_ms[5] < 100 and late_ms[-1] < 10_000, late_ms


@pytest.mark.parametrize("engine", ENGINES)
def test_a_peer_that_resets_is_an_error(agent, engine):
    port, token = agent.sink(engine=engine, streams=2, window_ms=20_000)
    peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    for stream, peer in enumerate(peers):
        peer.sendall(hello(1, stream, token))
    with control(port, 1, 2, token):
        for peer in peers:
            assert peer.recv(1) == b"G"
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            peer.close()
        sink = agent.receive()
    assert (sink["status"], sink["code"]) == ("error", "peer")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gen_waits_two_seconds_for_the_window_of_its_sink(agent, engine):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        agent.gen(listener.getsockname()[1], "0" * 32, engine=engine, window_ms=100)
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"G")
            while peer.recv(1 << 20):
                pass
        gen = agent.receive()
    assert gen["status"] == "ok", gen["message"]
    # without a limit it waits as long as the peer
    assert 2.1e9 <= gen["t_last_byte_ns"] - gen["t_go_ns"] < 10e9


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sink_that_never_reads_ends_the_gen_in_time(agent, engine):
    send = "zerocopy" if "zerocopy" in ENGINES[engine][0] else "copy"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        agent.gen(
            listener.getsockname()[1], "0" * 32, engine=engine, send=send, window_ms=100,
            drain_ms=300,
        )  # fmt: skip
        peer, _ = listener.accept()
        over, _ = listener.accept()
        with peer, over:
            peer.sendall(b"G")
            over.sendall(b"W")
            gen = agent.receive()
    assert (gen["status"], gen["code"]) == ("timeout", "timeout")
    if send == "zerocopy":
        assert gen["zerocopy"]["completed_bytes"] <= gen["total_bytes"]


@pytest.mark.skipif(
    os.geteuid() != 0 and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 11_000,
    reason="this user may not open 11,000 files, and 10,000 streams ask for them",
)
def test_10000_streams_take_less_than_64_KiB_each(gensink):
    limited = ("prlimit", f"--data={10_000 << 16}", gensink)
    common = ("--json", "--streams", "10000", "--congestion", "cubic", "--drain_ms", "30000")
    common += ("--interval_ms", "100", "--record_B", "65536")
    arrive = (("--accept_ms", "60000"), ("--connect_ms", "60000"))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    argv = (*limited, "sink", "--bind", "127.0.0.1", *common, *arrive[0], "--window_ms", "0")
    with subprocess.Popen(argv, **pipes) as process:
        process.stderr.readline()
        to = process.stderr.readline().decode().split()[2:]
        sent = subprocess.run(
            (*limited, "gen", *to, *common, *arrive[1], "--bytes", "20011"),
            input=process.stderr.readline(), stdout=subprocess.PIPE,
        )  # fmt: skip
        gen, sink = json.loads(sent.stdout), json.loads(process.stdout.read())
    assert (gen["status"], sink["status"]) == ("ok", "ok"), (gen["message"], sink["message"])
    assert gen["total_bytes"] == sink["total_bytes"] == sink["interval_sum_bytes"] == 200_110_000
    assert sink["engine"] == "epoll"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has the privilege that is dropped here")
def test_too_few_files_are_reported_with_the_number_needed(gensink):
    done = subprocess.run(
        ("setpriv", "--bounding-set", "-sys_resource", gensink, "sink", "--bind", "127.0.0.1",
         "--streams", "1000"),
        capture_output=True, text=True, timeout=30,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "open files are needed and 300 are allowed" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has the privilege that is dropped here")
@pytest.mark.parametrize("allowed", [1095, 1150, 1350, 1420])
def test_a_sink_with_few_files_takes_all_its_streams_or_is_refused(gensink, allowed):
    """Without room for connections before their hello it closed some of its own streams."""
    common = ("--json", "--streams", "1000", "--congestion", "cubic", "--drain_ms", "30000")
    argv = ("setpriv", "--bounding-set", "-sys_resource", gensink, "sink", "--bind", "127.0.0.1")
    with subprocess.Popen(
        (*argv, *common, "--window_ms", "0", "--accept_ms", "30000"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed)),
    ) as process:  # fmt: skip
        first = process.stderr.readline().decode()
        if "open files are needed" in first:
            assert allowed < 1350
            return
        to = process.stderr.readline().decode().split()[2:]
        subprocess.run(
            (gensink, "gen", *to, *common, "--bytes", "2011"),
            input=process.stderr.readline(), stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        sink = json.loads(process.stdout.read())
    assert (sink["status"], sink["rejected"]["evicted"]) == ("ok", 0), sink["message"]


def test_plain_only_sends_and_receives(agent):
    none = dict.fromkeys(("batch_B", "yield_B"))
    none |= {**dict.fromkeys(("read_delay", "sched_batch", "spread"), False), "spread_errno": 0}
    for streams in (1, 5):
        sink, gen = agent.transfer(engine="plain", streams=streams, bytes=100_003)
        assert_ledger_closes(sink, gen)
        assert sink["policy"] == gen["policy"] == none
        assert {sink["engine"], gen["engine"]} == {"plain"}


def test_options_take_the_place_of_the_rules(agent):
    given = {"batch_B": 65536, "sched_batch": "off", "spread": "on"}
    both = {"engine": "epoll", "threads": 2, "streams": 4, "bytes": 1_000_003}
    sink, gen = agent.transfer(**both, **given, yield_B="never", read_delay="off")
    assert_ledger_closes(sink, gen)
    wanted = {"batch_B": 65536, "sched_batch": False, "spread": True, "read_delay": False}
    for end in (sink, gen):
        assert {name: end["policy"][name] for name in wanted} == wanted
        assert all(stream["cpu"] is not None for stream in end["per_stream"])
    assert gen["policy"]["yield_B"] is None
    sink, gen = agent.transfer(**both, batch_B="none", spread="off")
    assert gen["policy"]["batch_B"] is None and gen["policy"]["spread"] is False
    assert gen["policy"]["yield_B"] is not None or len(os.sched_getaffinity(0)) >= 4


def test_the_metered_interface_does_not_change_how_bytes_are_sent(agent):
    policies = [
        agent.transfer(engine="epoll", streams=3, bytes=10_007, **more)[1]["policy"]
        for more in ({}, {"interface": "lo"})
    ]
    assert policies[0] == policies[1]


def test_a_report_has_the_policy_of_its_threads(agent):
    sink, gen = agent.transfer(engine="auto", streams=100, bytes=10_007)
    cpus = len(os.sched_getaffinity(0))
    for end in (sink, gen):
        assert end["threads"] == cpus
        assert end["policy"]["sched_batch"] is True
        assert end["policy"]["spread"] is (cpus > 0)
        assert end["policy"]["batch_B"] >= 128 << 10
    assert gen["policy"]["yield_B"] is not None and sink["policy"]["read_delay"] is False


def test_a_sender_whose_buffer_stays_full_sleeps_until_it_has_room(agent, gensink, tmp_path):
    """Its path is slow, here by pacing: little of the buffer is in flight."""
    streams, pace_Bps = 8, 2_000_000
    port, token = agent.sink(streams=streams, window_ms=1000)
    (tmp_path / "token").write_text(token)
    options = {"to": "127.0.0.1", "port": port, "streams": streams, "engine": "blocking"}
    options |= {"pacing_Bps": pace_Bps, "window_ms": 1000, "token": tmp_path / "token"}
    argv = [gensink, "gen", "--json", *(f"--{name}={value}" for name, value in options.items())]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    sink = agent.receive()
    assert (status, sink["status"]) == (0, "ok"), sink["message"]
    assert sink["window"]["bytes"] > 0.5 * streams * pace_Bps
    # a wake-up a millisecond and stream would be 8000
    assert usage.ru_nvcsw < 100 * streams, usage


def test_a_refused_placement_that_the_rules_chose_is_noted_and_the_run_goes_on(start_agent):
    agent = start_agent(preexec_fn=refusing("sched_setaffinity"))
    for engine, spread in (("auto", errno.EPERM), ("blocking", 0)):
        sink, gen = agent.transfer(engine=engine, streams=8, bytes=100_003)
        assert_ledger_closes(sink, gen)
        for end in (sink, gen):
            assert (end["policy"]["spread"], end["policy"]["spread_errno"]) == (False, spread)
            assert {stream["cpu"] for stream in end["per_stream"]} == {None}
    followed = agent.transfer(streams=2, bytes=100_003, follow_incoming_cpu=1)
    assert [end["status"] for end in followed] == ["ok", "ok"]


@pytest.mark.parametrize("asked", [{"cpus": 0}, {"spread": "on"}], ids=str)
def test_a_refused_placement_that_was_asked_for_fails_the_run(start_agent, asked):
    agent: Agent = start_agent(preexec_fn=refusing("sched_setaffinity"))
    sink = {"run": 1, "bind": "127.0.0.1", "streams": 4, "token": "0" * 32, "record_B": 65536}
    agent.say(request("sink", {**sink, "window_ms": 100, "accept_ms": 5000, **asked}))
    (key,) = asked
    if key == "spread":  # known once the threads have started
        listening = agent.receive()
        agent.gen(listening["port"], "0" * 32, streams=4)
    answers = []
    while not answers or answers[-1]["event"] not in ("error", "sink_result"):
        answers.append(agent.receive())
    assert answers[-1]["code"] == "refused", answers
    assert "sched_setaffinity" in answers[-1]["message"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs to take one away")
def test_the_cpus_are_those_that_the_process_may_use(start_agent, gensink):
    cpu = str(min(os.sched_getaffinity(0)))
    agent = start_agent("taskset", "-c", cpu, gensink, "agent")
    sink, gen = agent.transfer(engine="epoll", streams=20, bytes=10_007)
    assert sink["threads"] == gen["threads"] == 1


def wait_until_asleep(pid: int) -> None:
    """Wait for a second without CPU time: on a busy machine a beginning takes its time."""

    def is_asleep() -> bool:
        before = used_ns()
        time.sleep(1)
        return used_ns() == before

    def used_ns() -> list[str]:
        return [task.read_text().split()[0] for task in tasks]

    tasks = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    until(is_asleep)


def test_an_agent_that_waits_uses_no_cpu(agent):
    """Neither without a run nor with one whose streams have not come."""
    wait_until_asleep(agent.process.pid)
    agent.sink(streams=20, engine="epoll", accept_ms=60_000)
    wait_until_asleep(agent.process.pid)
    agent.say("stop run=1")
    assert agent.receive()["status"] == "stopped"


@pytest.mark.parametrize("engine", ENGINES)
def test_sampling_20_streams_every_10_ms_costs_less_than_1_percent_of_a_core(agent, engine):
    sampled = {"streams": 20, "interval_ms": 10, "window_ms": 1000, "tail_ms": 500}
    sink, gen = agent.transfer(engine=engine, **sampled)
    assert_ledger_closes(sink, gen)
    for end in (sink, gen):
        times = end["samples"]["t_ns"]
        # meters are read by the same thread, four times a run, whatever its length: 8 ms
        assert end["watch_cpu_us"] * 1000 < 0.01 * (times[-1] - times[0]) + 16e6
