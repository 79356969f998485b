"""The agent follows native/PROTOCOL.md, over its standard streams and real sockets."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from native.agent_peers import PEERS_TOKEN, control, hello, one_peer
from native.ledger import assert_ledger_closes
from native.spoken_agent import wait_for_data
from waiting import until

from netlab import core
from netlab.files.answers import checked


@contextlib.contextmanager
def flood(port: int, count: int, **options):
    """That many connections that say nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), **options))
        yield


def test_ready_line_names_this_build_and_host(gensink, own_network):
    done = subprocess.run((gensink, "agent"), input=b"", capture_output=True, timeout=30)
    ready = json.loads(done.stdout)
    assert next(iter(ready)) == "event"
    assert ready["protocol"] == 1
    assert ready["digest"] == core.source_digest() and ready["version"] == core.version()
    assert ready["hostname"] == os.uname().nodename and ready["kernel"] == os.uname().release
    assert ready["cpus"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert ready["may_force_buffers"] is (os.geteuid() == 0)
    assert done.returncode == 0


@pytest.mark.parametrize("streams", [1, 4, 20, 100])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_ledger_closes_to_the_byte(agent, streams, address):
    options = {"streams": streams, "interface": "lo", "warmup_ms": 50}
    sink, gen = agent.transfer(bind=address, to=address, **options)
    assert_ledger_closes(sink, gen)
    assert sink["accepted"] == streams and not any(sink["rejected"].values())
    # headers and acks come on top; loopback counts both directions in one
    seen = sink["meter"]["total"]["interface"]
    assert sink["total_bytes"] < seen["rx_bytes"] < 1.2 * sink["total_bytes"] + 10**6
    window = sink["window"]
    assert window["t1_ns"] - window["t0_ns"] >= 200 * 10**6
    assert window["t0_ns"] - sink["t_go_ns"] >= 50 * 10**6
    assert 0 < window["bytes"] < sink["total_bytes"]


def test_results_say_how_late_the_watch_thread_was(agent):
    stopped_s, began = 0.4, time.monotonic()
    port, token = agent.sink(window_ms=60_000)
    agent.gen(port, token, window_ms=60_000)
    wait_for_data()
    agent.process.send_signal(signal.SIGSTOP)
    time.sleep(stopped_s)
    agent.process.send_signal(signal.SIGCONT)
    wait_for_data()
    agent.say("stop run=1")
    for result in agent.receive_results().values():
        # a sample is due every 50 ms
        assert stopped_s - 0.06 < result["watch_late_us"] / 1e6 < time.monotonic() - began


def test_a_sink_listens_at_the_port_that_it_is_given_again_and_again(agent):
    free, _ = agent.sink(run=1)
    assert agent.ask("stop run=1")["status"] == "stopped"
    for run in (2, 3):
        port, token = agent.sink(run=run, port=free)
        assert port == free
        agent.gen(port, token, run=run)
        assert {end["status"] for end in agent.receive_results().values()} == {"ok"}


def test_samples_every_10_ms_sum_to_the_total_and_carry_a_trace(agent):
    options, counts = {"streams": 2, "window_ms": 500}, {10: [], 60_000: []}
    for interval_ms in (60_000, 10) * 3:
        sink, gen = agent.transfer(gen={"trace": 1}, interval_ms=interval_ms, **options)
        assert_ledger_closes(sink, gen)
        counts[interval_ms].append(len(sink["samples"]["t_ns"]))
    # an interval without effect would show; a busy machine takes few of the 50 samples
    assert sum(counts[10]) > 2 * sum(counts[60_000])
    times = sink["samples"]["t_ns"]
    assert len(times) <= (times[-1] - times[0]) / 10e6 + 20
    assert sink["trace"] is None
    shape = [len(row) for row in gen["samples"]["bytes"]]
    for name in ("rtt_us", "cwnd_segments", "retransmits"):
        assert [len(row) for row in gen["trace"][name]] == shape
    assert max(gen["trace"]["cwnd_segments"][0]) > 0
    stream = gen["per_stream"][0]
    assert stream["tcp_t1"]["bytes_acked"] > 0
    trace = gen["trace"]["cwnd_segments"][0]
    assert (stream["cwnd_start_segments"], stream["cwnd_max_segments"]) == (trace[0], max(trace))
    assert stream["cwnd_start_segments"] <= stream["cwnd_t0_segments"] <= max(trace)
    assert stream["tcp"]["snd_wscale"] == sink["per_stream"][0]["tcp"]["rcv_wscale"] > 0


def test_buffers_are_as_asked_and_reported(agent):
    for end in agent.transfer(buffer_B=50_000):  # the kernel doubles the requested size
        assert end["per_stream"][0]["sndbuf_B"] == 100_000
        assert end["per_stream"][0]["rcvbuf_B"] == 100_000
        assert end["per_stream"][0]["sndbuf_start_B"] == 100_000


@pytest.mark.skipif(os.geteuid() != 0, reason="forcing buffers takes CAP_NET_ADMIN")
def test_forced_buffers_pass_the_limit(agent):
    limit = int(Path("/proc/sys/net/core/rmem_max").read_text())
    for end in agent.transfer(buffer_B=2 * limit, force_buffer=1):
        assert end["per_stream"][0]["rcvbuf_B"] == 4 * limit


BASE = f"run=1 streams=1 record_B=1 token={'0' * 32} window_ms=1"
SINK, GEN = f"sink {BASE} bind=127.0.0.1", f"gen {BASE} to=127.0.0.1 port=1"


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("nonsense", None),
        ("ping what=1", "what"),
        ("stop run=x", "run"),
        ("meter interface=nosuch0", "interface"),
        *((f"{SINK} {words}", words.rpartition(" ")[2].partition("=")[0]) for words in (
            "engine=plain receive=discard", "engine=plain receive=zerocopy", "engine=select",
            "send=copy", "threads=1025", "engine=epoll read_delay=on", "cpus=0,4095",
        )),
        *((f"{GEN} {words}", words.rpartition(" ")[2].partition("=")[0]) for words in (
            "engine=plain send=zerocopy", "engine=plain send=splice", "engine=plain threads=2",
            "engine=uring", "engine=blocking threads=2", "send=discard", "receive=copy",
        )),
        ("lease controller=a number=1", "directory"),
        ("lease directory=/ number=1", "controller"),
        ("lease directory=/ controller=a", "number"),
        ("lease directory=/ controller=a number=0", "number"),
        ("lease directory=/ controller=a%20b number=1", "controller"),
        (f"lease directory=/ controller={'a' * 65} number=1", "controller"),
    ],
)  # fmt: skip
def test_bad_requests_are_answered_and_change_nothing(agent, line, key):
    answer = agent.ask(line)
    assert (answer["event"], answer["code"]) == ("error", "bad_request")
    if key is not None:
        assert answer["key"] == key
    assert answer["message"]
    assert agent.ask("ping")["event"] == "pong"


def test_a_run_number_is_taken_once_a_role(agent):
    agent.sink(run=3)
    answer = agent.ask(
        f"sink run=3 bind=127.0.0.1 streams=1 token={'0' * 32} record_B=1 window_ms=1"
    )
    assert (answer["code"], answer["key"]) == ("bad_request", "run")
    agent.say("stop run=3")
    assert agent.receive()["status"] == "stopped"


def test_a_wrong_token_is_rejected_and_fails_the_gen(agent):
    port, _ = agent.sink(accept_ms=800)
    agent.gen(port, "f" * 32)
    results = agent.receive_results()
    assert results["error", 1]["code"] == "peer"
    sink = results["sink_result", 1]
    assert (sink["status"], sink["code"]) == ("timeout", "timeout")
    assert sink["rejected"]["token"] == 2 and sink["accepted"] == 0  # its stream and its control
    assert sink["samples"]["t_ns"] == [] and sink["total_bytes"] == 0


def test_nonsense_slow_and_repeated_peers_delay_no_stream(agent):
    port, token = agent.sink(streams=4, run=9, accept_ms=30_000)
    peers = [socket.create_connection(("127.0.0.1", port)) for _ in range(9)]
    try:
        peers[0].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"x" * 64)
        peers[1].sendall(b"NLHE")  # slow: the rest never comes
        peers[2].sendall(hello(9, 0, token, version=2))
        peers[3].sendall(hello(8, 0, token))
        peers[4].sendall(hello(9, 4, token))
        peers[5].sendall(hello(9, 0, "0" * 32))
        peers[6].sendall(hello(9, 0, token))  # right: takes the place of stream 0
        time.sleep(0.2)
        peers[7].sendall(hello(9, 0, token))
        peers[8].sendall(b"NL")
        peers[8].shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        over = control(port, 9, 4, token)
        with control(port, 9, 4, token) as twice:
            assert twice.recv(1) == b""
        for stream in (1, 2, 3):
            s = socket.create_connection(("127.0.0.1", port))
            s.sendall(hello(9, stream, token)[:10])
            time.sleep(0.02)
            s.sendall(hello(9, stream, token)[10:])
            peers.append(s)
        good = [peers[6], *peers[9:]]
        for s in good:
            s.settimeout(30)
            assert s.recv(1) == b"G"
            s.sendall(b"x" * 1000)
        assert over.recv(1) == b"W", "the window is over"
        peers.append(over)
        for s in good:
            s.shutdown(socket.SHUT_WR)
        sink = agent.receive()
    finally:
        for s in peers:
            s.close()
    assert sink["status"] == "ok", sink["message"]
    assert sink["total_bytes"] == 4000
    assert sink["rejected"] == {
        "short": 1, "magic": 1, "version": 1, "run": 1, "stream": 1, "token": 1, "twice": 2,
        "late": 1, "address": 0, "evicted": 0, "datagrams": 0,
    }  # fmt: skip


def test_a_silent_peer_is_dropped_after_2_s(agent):
    port, _ = agent.sink(accept_ms=60_000)
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as silent:
        silent.settimeout(30)
        assert silent.recv(1) == b""
        assert time.monotonic() - start > 1.9
    agent.say("stop run=1")
    sink = agent.receive()
    assert sink["status"] == "stopped" and sink["rejected"]["late"] == 1


LIMITED = ("setpriv", "--bounding-set", "-sys_resource", "prlimit", "--nofile=160:160")
"""160 descriptors, which not even root may raise without CAP_SYS_RESOURCE."""


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping a capability takes CAP_SETPCAP")
def test_more_silent_peers_than_descriptors_do_not_end_a_run(start_agent, gensink):
    agent = start_agent(*LIMITED, gensink, "agent")
    port, token = agent.sink(streams=2, accept_ms=20_000)
    with flood(port, 300):
        agent.gen(port, token, streams=2, connect_ms=20_000)
        results = agent.receive_results()
    sink = results["sink_result", 1]
    assert_ledger_closes(sink, results["gen_result", 1])
    assert sink["rejected"]["evicted"] + sink["rejected"]["late"] >= 200


def test_only_the_address_of_the_gen_is_let_in(agent):
    port, token = agent.sink(streams=2, **{"from": "127.0.0.3"})
    with flood(port, 50, source_address=("127.0.0.2", 0)):
        agent.gen(port, token, streams=2, **{"from": "127.0.0.3"})
        results = agent.receive_results()
    sink = results["sink_result", 1]
    assert_ledger_closes(sink, results["gen_result", 1])
    assert sink["rejected"]["address"] == 50
    assert sum(sink["rejected"].values()) == 50


def test_an_address_that_the_gen_does_not_have_is_an_error(agent):
    port, token = agent.sink()
    agent.gen(port, token, **{"from": "192.0.2.1"})
    answer = agent.receive()
    assert answer["event"] == "error" and "192.0.2.1" in answer["message"]


def test_a_sink_that_waits_ends_by_itself(agent):
    agent.sink(streams=2, accept_ms=300)
    sink = agent.receive()
    assert sink["status"] == "timeout" and "0 of 2" in sink["message"]


def test_a_gen_that_is_never_let_go_ends_by_itself(agent):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        agent.gen(mute.getsockname()[1], "0" * 32, connect_ms=300)
        answer = agent.receive()
    assert (answer["event"], answer["code"]) == ("error", "timeout")


def test_a_run_without_end_that_moves_slowly_is_not_cut(agent):
    """Progress counts, however rare the samples are."""
    options = {"token": PEERS_TOKEN, "drain_ms": 3000, "interval_ms": 60_000}
    port, _ = agent.sink(window_ms=0, **options)
    with one_peer(port) as peer:
        for _ in range(10):
            peer.sendall(b"x")
            time.sleep(0.4)
        peer.shutdown(socket.SHUT_WR)
        sink = agent.receive()
    assert (sink["status"], sink["total_bytes"]) == ("ok", 10)


@pytest.mark.skipif(os.geteuid() != 0, reason="making an interface takes CAP_NET_ADMIN")
@pytest.mark.parametrize("made_again", [False, True])
def test_an_interface_that_vanishes_or_is_made_again_is_a_reset(agent, made_again):
    name = "nltvanish"
    make, delete = ("ip", "link", "add", name, "type", "veth"), ("ip", "link", "del", name)
    subprocess.run(make, check=True)
    port, token = agent.sink(interface=name, window_ms=60_000)
    agent.gen(port, token, interface=name, window_ms=60_000)
    wait_for_data()
    subprocess.run(delete, check=True)
    if made_again:
        subprocess.run(make, check=True)
    agent.say("stop run=1")
    results = agent.receive_results()
    for end in results.values():
        assert end["status"] == "stopped"
        assert end["meter"]["total"]["interface"]["name"] == name
        assert end["meter"]["total"]["interface"]["reset"] is True
    if made_again:
        subprocess.run(delete, check=True)


def test_a_killed_gen_ends_the_sink(agent, gensink):
    port, token = agent.sink(window_ms=20_000, streams=4)
    gen = subprocess.Popen(
        (gensink, "gen", "--to", "127.0.0.1", "--port", str(port), "--token", "-",
         "--streams", "4", "--window_ms", "20000", "--congestion", "cubic"),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    gen.stdin.write(f"{token}\n".encode())
    gen.stdin.close()
    wait_for_data()
    gen.kill()
    gen.wait()
    sink = agent.receive()
    assert (sink["status"], sink["code"]) == ("error", "peer")
    assert sink["interval_sum_bytes"] == sink["total_bytes"] > 0


@pytest.mark.parametrize(("window_ms", "sent"), [(0, b"x" * 100), (100, b"")])
def test_a_stalled_run_and_streams_that_do_not_drain_are_cut(agent, window_ms, sent):
    port, _ = agent.sink(token=PEERS_TOKEN, window_ms=window_ms, drain_ms=300)
    with one_peer(port) as peer:
        peer.sendall(sent)
        sink = agent.receive()
    assert (sink["status"], sink["code"]) == ("timeout", "timeout")
    assert sink["total_bytes"] == len(sent)


def test_end_of_input_under_load_does_not_wait_for_a_run_of_a_minute(start_agent):
    agent = start_agent()
    port, token = agent.sink(streams=20, window_ms=60_000)
    agent.gen(port, token, streams=20, window_ms=60_000)
    agent.sink(run=2, accept_ms=60_000)
    wait_for_data()
    assert agent.close() == 0


def test_an_output_without_a_reader_ends_it(start_agent):
    agent = start_agent()
    port, token = agent.sink(streams=4, window_ms=60_000)
    agent.gen(port, token, streams=4, window_ms=60_000)
    wait_for_data()
    agent.process.stdout.close()
    agent.process.wait(30)


def test_a_full_output_does_not_keep_it_alive(start_agent):
    agent = start_agent()
    agent.process.stdin.write(b"meter\n" * 2000)  # far more than a pipe holds
    agent.process.stdin.flush()
    agent.process.stdin.close()
    agent.process.wait(30)


def test_meter_and_ping(agent):
    snapshot = agent.ask("meter interface=lo others=1")
    assert snapshot["event"] == "meter" and snapshot["interface"]["name"] == "lo"
    assert len(snapshot["cpu"]) == os.cpu_count()
    assert snapshot["context_switches"] > 0 and snapshot["interrupts"] > 0
    assert set(snapshot["softnet"]) == {"processed", "dropped", "time_squeeze"}
    assert set(snapshot["process"]) == {"user_us", "system_us"}
    assert agent.ask("meter")["interface"] is None
    others = agent.ask("meter others=1")["others"]
    assert snapshot["others"] is None and others["pid"] == agent.process.pid
    assert agent.ask("ping")["t_ns"] > snapshot["t_ns"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts over /proc in a namespace of its own")
@pytest.mark.parametrize("then", ["true", ": > /proc/$$/net/softnet_stat"], ids=["no", "empty"])
def test_a_run_goes_on_where_the_backlog_counters_are_masked(start_agent, gensink, then):
    command = f'mount -t tmpfs none /proc/$$/net && {then} && exec "$0" agent'
    own_mounts = ("unshare", "--mount", "--propagation", "slave")
    agent = start_agent(*own_mounts, "sh", "-c", command, gensink)
    assert checked(agent.ask("meter"))["softnet"] is None
    sink, gen = agent.transfer(streams=2, bytes=100_003)
    assert_ledger_closes(sink, gen)
    sink, gen = checked(sink), checked(gen)
    assert sink["meter"]["total"]["softnet"] is gen["meter"]["window"]["softnet"] is None
    assert sink["meter"]["total"]["context_switches"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts over /proc in a namespace of its own")
@pytest.mark.parametrize(("option", "known"), [("hidepid=0", True), ("hidepid=2", False)])
def test_a_proc_that_hides_processes_of_others_does_not_show_an_idle_host(
    start_agent, gensink, option, known
):
    """The agent of an ordinary user sees its own processes alone there."""
    own_mounts = ("unshare", "--mount", "--propagation", "slave")
    mounts = f'mount -t tmpfs none /run && cp "$0" /run && mount -t proc -o {option} none /proc'
    user = "setpriv --reuid 65534 --regid 65534 --clear-groups"
    agent = start_agent(
        *own_mounts, "sh", "-c", f"{mounts} && exec {user} /run/gensink agent", gensink
    )
    agent.ask("meter others=1")
    assert (checked(agent.ask("meter others=1"))["others"] is not None) == known


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a PID namespace")
def test_a_container_does_not_show_an_idle_machine(start_agent, gensink):
    """Its /proc lacks the processes outside, which use the same CPUs."""
    container = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
    agent = start_agent(*container, "sh", "-c", '"$0" agent; exit $?', gensink)
    agent.ask("meter others=1")
    answer = checked(agent.ask("meter others=1"))
    assert answer["others"] is None
    assert any(cpu["user_us"] for cpu in answer["cpu"])  # those of the machine are there


def test_20_runs_leave_no_files_or_threads_behind(agent):
    def in_use() -> tuple[int, int]:
        proc = Path(f"/proc/{agent.process.pid}")
        return len(list((proc / "fd").iterdir())), len(list((proc / "task").iterdir()))

    def one_run(run: int) -> None:
        paced = {"pacing_Bps": 50_000_000, "tail_ms": 300}  # a sink may be late; a tail is cheap
        options = {"run": run, "streams": 5, "window_ms": 20, "interval_ms": 10}
        assert_ledger_closes(*agent.transfer(**options, **paced))

    before = in_use()
    for run in range(20):
        one_run(run)
    until(lambda: in_use() == before)  # a run's own thread goes after its result


def test_streams_that_await_their_start_send_nothing_before_it(agent):
    port, token = agent.sink(await_start_ms=60_000)
    agent.gen(port, token, connect_ms=60_000)
    assert agent.receive() == {"event": "connected", "run": 1}
    time.sleep(0.5)
    asked_ns = agent.ask("ping")["t_ns"]
    agent.say("start run=2")  # another one's
    agent.say("start run=1")
    assert agent.receive() == {"event": "running", "run": 1}
    results = agent.receive_results()
    sink, gen = results["sink_result", 1], results["gen_result", 1]
    assert_ledger_closes(sink, gen)
    assert sink["t_go_ns"] > asked_ns and gen["t_first_byte_ns"] > asked_ns
    agent.say("start run=1")  # has ended
    assert agent.ask("ping")["event"] == "pong"


def test_a_start_that_nobody_requests_is_a_timeout(agent):
    port, token = agent.sink(await_start_ms=2000)
    agent.gen(port, token, connect_ms=60_000)
    assert agent.receive()["event"] == "connected"
    sink = agent.receive_results()["sink_result", 1]
    assert (sink["status"], sink["code"]) == ("timeout", "timeout")
    assert "no request to start" in sink["message"] and sink["total_bytes"] == 0


def test_a_run_that_awaits_its_start_can_be_stopped(agent):
    port, token = agent.sink(await_start_ms=60_000)
    agent.gen(port, token, connect_ms=60_000)
    assert agent.receive()["event"] == "connected"
    agent.say("stop run=1")
    statuses = {event["event"]: event.get("status") for event in (agent.receive(), agent.receive())}
    assert statuses["sink_result"] == "stopped"
