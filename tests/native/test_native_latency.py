"""The latency probe of a run: its figures, and the datagrams that get no answer."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from native.agent_peers import control, hello
from native.spoken_agent import request

from netlab.files.answers import checked

RUN, TOKEN = 1, "5a" * 16
PROBE = {"latency_interval_ms": 5, "latency_idle_ms": 300, "run": RUN}
PROBE |= {"from": "127.0.0.1", "latency_dscp": 46}
QUESTION, ANSWER, DONE = 1, 2, 3
LAYOUT = ">8sIIQ16sQQQ"


def datagram(
    kind: int, sequence: int, token: str = TOKEN, held_ns: int = 0, arrived_ns: int = 0
) -> bytes:
    fields = (b"NLPROBE1", kind, 0, RUN, bytes.fromhex(token), sequence, held_ns, arrived_ns)
    return struct.pack(LAYOUT, *fields)


def udp(address: str = "127.0.0.1") -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((address, 0))
    made.settimeout(30)
    return made


WAYS = {"latency": 1, "latency_tcp": 2}


@pytest.mark.parametrize("by", [1, 2, 3])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_every_phase_has_its_probes_and_streams_are_as_ever(agent, address, by):
    ends = {**PROBE, "latency_probe": by, "bind": address, "to": address, "from": address}
    sink, gen = agent.transfer(**ends, window_ms=500, warmup_ms=100)
    sink, gen = checked(sink), checked(gen)
    assert (sink["status"], gen["status"]) == ("ok", "ok")
    assert sink["accepted"] == 1 and not any(sink["rejected"].values())
    for way, bit in WAYS.items():
        if by & bit:
            check_phases(sink, gen, way)
        else:
            assert sink[way] is gen[way] is None


def check_phases(sink: dict, gen: dict, way: str) -> None:
    latency = gen[way]
    # the time between the phases belongs to none of them
    least_us: list[int] = []
    phases = [latency[name] for name in ("idle", "warmup", "loaded", "after")]
    assert sum(phase["sent"] for phase in phases) <= latency["sent"] <= 2 + 3000 / 5
    times = [t_ns for phase in phases for t_ns in phase["t_ns"]]
    assert times == sorted(times) and gen["t_go_ns"] <= min(
        latency["warmup"]["t_ns"], default=1 << 63
    )
    window = gen["window"]
    assert all(window["t0_ns"] <= t_ns < window["t1_ns"] for t_ns in latency["loaded"]["t_ns"])
    # a thread without a processor skips probes
    for phase, least, most_ms in zip(phases, (1, 0, 1, 1), (300, 100, 500, 300), strict=True):
        assert least <= phase["sent"] == len(phase["t_ns"]) <= most_ms / 5 + 200
        known = [rtt_us for rtt_us in phase["rtt_us"] if rtt_us is not None]
        assert len(phase["rtt_us"]) == phase["sent"] and len(known) == phase["received"]
        assert phase["duplicates"] == 0
        least_us.extend(known)
    assert min(least_us) < 5000
    assert sink[way]["answered"] >= sum(phase["received"] for phase in phases)
    assert (sink[way]["foreign"], sink[way]["invalid"]) == (0, 0)
    assert latency["invalid"] == latency["dropped"] == latency["clock_steps"] == 0


def test_a_run_without_the_option_has_none(agent):
    sink, gen = agent.transfer()
    assert all(end[way] is None for way in WAYS for end in (sink, gen))


@pytest.mark.parametrize(
    ("verb", "options", "code", "key"),
    [
        ("sink", {"from": ""}, "bad_request", "from"),
        ("gen", {"window_ms": "", "bytes": 1}, "bad_request", "latency_interval_ms"),
        ("gen", {"latency_interval_ms": 1, "window_ms": 300_000}, "limit", "latency_interval_ms"),
    ],
)
def test_a_probe_that_cannot_be_is_refused_before_the_run(agent, verb, options, code, key):
    words = {**PROBE, "streams": 1, "token": TOKEN, "record_B": 1024, "window_ms": 100}
    words |= {"bind": "127.0.0.1"} if verb == "sink" else {"to": "127.0.0.1", "port": 9}
    words |= options
    answer = agent.ask(request(verb, {k: v for k, v in words.items() if v != ""}))
    assert (answer["event"], answer["code"], answer["key"]) == ("error", code, key)


def test_only_questions_of_the_run_from_its_gen_get_an_answer(agent):
    port, _ = agent.sink(**PROBE, token=TOKEN, accept_ms=30_000, window_ms=300)
    sink = ("127.0.0.1", port)
    with udp() as gen, udp("127.0.0.2") as other:
        other.sendto(datagram(QUESTION, 0), sink)
        for nonsense in (
            datagram(QUESTION, 1, token="00" * 16),
            datagram(ANSWER, 2),
            datagram(QUESTION, 3) + b"x",
            datagram(QUESTION, 4)[:-1],
            b"",
        ):
            gen.sendto(nonsense, sink)
        gen.sendto(datagram(QUESTION, 7), sink)
        answer, _ = gen.recvfrom(2048)  # the first: the others got none
        *_, kind, zero, run, token, sequence, held_ns, arrived_ns = struct.unpack(LAYOUT, answer)
        assert (kind, zero, run, token.hex(), sequence) == (ANSWER, 0, RUN, TOKEN, 7)
        assert 0 < held_ns < 30e9 and 0 < arrived_ns < time.monotonic_ns() - held_ns
        with socket.create_connection(sink) as stream, control(port, RUN, 1, TOKEN):
            stream.sendall(hello(RUN, 0, TOKEN))
            assert stream.recv(1) == b"G"
            time.sleep(0.5)
        gen.sendto(datagram(DONE, 8), sink)
        result = agent.receive()
        for silent in (gen, other):
            silent.settimeout(0.1)
            with pytest.raises(TimeoutError):
                silent.recv(2048)
    assert result["event"] == "sink_result"
    assert result["latency"] == {
        **{"interval_ms": 5, "answered": 1, "foreign": 1, "invalid": 1},
        **{"dropped": 4, "clock_steps": 0},
    }


def test_a_flood_of_what_is_no_probe_takes_no_room_from_probes(agent):
    """More datagrams than the buffer holds, while the sink has no CPU."""
    port, _ = agent.sink(**PROBE, token=TOKEN, accept_ms=30_000, window_ms=300)
    sink, flood = ("127.0.0.1", port), 5000
    with udp() as gen, udp("127.0.0.2") as other:
        os.kill(agent.process.pid, signal.SIGSTOP)
        for n in range(flood):
            other.sendto((b"x", datagram(QUESTION, n, token="00" * 16))[n % 2], sink)
        gen.sendto(datagram(QUESTION, 7), sink)
        os.kill(agent.process.pid, signal.SIGCONT)
        sequence = struct.unpack(LAYOUT, gen.recv(2048))[5]
        agent.say("stop run=1")
        result = agent.receive()
    latency = result["latency"]
    assert sequence == 7 and latency["answered"] == 1
    assert (latency["foreign"], latency["invalid"], latency["dropped"]) == (0, 0, flood)


@contextlib.contextmanager
def sink_of_the_test(agent) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A listener that a gen with a probe connects to, and a datagram socket of the same port."""
    answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with socket.create_server(("127.0.0.1", 0)) as listener, answers:
        answers.bind(listener.getsockname())
        answers.settimeout(30)
        agent.gen(listener.getsockname()[1], TOKEN, **PROBE, connect_ms=20_000)
        yield listener, answers


def take_all(listener: socket.socket) -> None:
    """Serve the one stream of the gen to its end."""
    stream, _ = listener.accept()
    over, _ = listener.accept()
    with stream, over:
        stream.settimeout(30)
        stream.recv(64, socket.MSG_WAITALL)
        stream.sendall(b"G")
        over.sendall(b"W")
        while stream.recv(1 << 20):
            pass


def test_a_peer_that_answers_nonsense_makes_no_figure(agent):
    """Answers to nothing sent, with impossible times, twice, and from elsewhere."""
    with sink_of_the_test(agent) as (listener, sink), udp() as elsewhere:
        sink.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        _, [(*_, tos)], _, gen = sink.recvmsg(2048, 64)
        assert tos[0] >> 2 == 46
        elsewhere.sendto(datagram(ANSWER, 0), gen)
        for answer in (
            datagram(ANSWER, 1 << 40),
            datagram(ANSWER, 0, held_ns=1 << 62),
            datagram(ANSWER, 0, arrived_ns=1 << 63),
            datagram(QUESTION, 0),
            b"NLPROBE1",
            datagram(ANSWER, 0),
            datagram(ANSWER, 0),
        ):
            sink.sendto(answer, gen)
        take_all(listener)
        result = agent.receive()
    assert result["event"] == "gen_result" and result["status"] == "ok", result["message"]
    idle = result["latency"]["idle"]
    assert idle["received"] == 1 and idle["duplicates"] == 1
    assert idle["rtt_us"][0] is not None and set(idle["rtt_us"][1:]) == {None}
    assert (result["latency"]["invalid"], result["latency"]["dropped"]) == (4, 1)


def test_an_answer_after_that_of_a_later_probe_is_reordered(agent):
    with sink_of_the_test(agent) as (listener, sink):
        *_, (_, gen) = (sink.recvfrom(2048) for _ in range(3))
        for sequence in (2, 0, 1):
            sink.sendto(datagram(ANSWER, sequence), gen)
        take_all(listener)
        idle = agent.receive()["latency"]["idle"]
    assert (idle["received"], idle["reordered"], idle["duplicates"]) == (3, 2, 0)


def test_a_path_without_answers_leaves_the_run_valid(agent):
    with sink_of_the_test(agent) as (listener, answers):
        answers.close()
        take_all(listener)
        result = agent.receive()
    assert result["status"] == "ok", result["message"]
    assert result["latency"]["sent"] > 10
    assert not any(result["latency"][name]["received"] for name in ("idle", "loaded", "after"))


def test_a_stop_ends_a_probe_in_its_idle_phase(agent):
    port, token = agent.sink(**PROBE, accept_ms=60_000)
    agent.gen(port, token, **{**PROBE, "latency_idle_ms": 60_000})
    time.sleep(0.2)
    agent.say("stop run=1")
    results = [agent.receive() for _ in range(2)]
    assert {result["status"] for result in results} == {"stopped"}


def test_a_udp_run_may_have_a_probe_over_tcp(agent):
    of_udp = {"udp": 1, "record_B": 1000}
    sink, gen = agent.transfer(
        **PROBE, **of_udp, latency_probe=2, window_ms=300, gen={"pacing_Bps": 10**6}
    )
    assert gen["latency_tcp"]["loaded"]["received"] > 0 and sink["total_bytes"] > 0


def test_the_sink_answers_on_one_connection_until_it_makes_no_sense(agent):
    port, _ = agent.sink(**PROBE, latency_probe=2, token=TOKEN, accept_ms=30_000, window_ms=300)
    sink = ("127.0.0.1", port)
    with contextlib.ExitStack() as stack:
        probe, another, stream = (
            stack.enter_context(socket.create_connection(sink, timeout=30)) for _ in range(3)
        )
        probe.sendall(hello(RUN, 1, TOKEN))
        for sequence in (7, 8):
            question = datagram(QUESTION, sequence)
            for part in (question[:9], question[9:]):
                probe.sendall(part)
            answer = probe.recv(64, socket.MSG_WAITALL)
            *_, kind, _, run, token, number, held_ns, _ = struct.unpack(LAYOUT, answer)
            assert (kind, run, token.hex(), number) == (ANSWER, RUN, TOKEN, sequence)
        assert held_ns < 30e9  # unknown, of what came before the sink had read the hello
        another.sendall(hello(RUN, 1, TOKEN))
        assert another.recv(1) == b""
        probe.sendall(b"x" * 64 + datagram(QUESTION, 9))
        stream.sendall(hello(RUN, 0, TOKEN))
        stack.enter_context(control(port, RUN, 1, TOKEN))
        assert stream.recv(1) == b"G"
        time.sleep(0.5)
        stream.close()
        result = agent.receive()
    assert result["rejected"]["twice"] == 1
    assert (result["latency_tcp"]["answered"], result["latency_tcp"]["invalid"]) == (2, 1)


def test_a_run_outlives_the_connection_of_its_probe(agent):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = {**PROBE, "latency_probe": 2, "connect_ms": 20_000}
        agent.gen(listener.getsockname()[1], TOKEN, **options)
        probe, _ = listener.accept()
        with probe:
            assert probe.recv(64, socket.MSG_WAITALL) == hello(RUN, 1, TOKEN)
            *_, kind, zero, run, token, sequence, held_ns, arrived_ns = struct.unpack(
                LAYOUT, probe.recv(64, socket.MSG_WAITALL)
            )
            assert (kind, zero, run, token.hex()) == (QUESTION, 0, RUN, TOKEN)
            assert (sequence, held_ns, arrived_ns) == (0, 0, 0)
            probe.sendall(datagram(ANSWER, 0))
        take_all(listener)
        result = agent.receive()
    assert result["status"] == "ok", result["message"]
    idle = result["latency_tcp"]["idle"]
    assert idle["received"] == 1 and idle["rtt_us"][0] is not None
    assert not any(result["latency_tcp"][name]["received"] for name in ("loaded", "after"))


def test_without_a_sink_a_probe_over_tcp_fails_as_a_stream_does(agent):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    agent.gen(port, TOKEN, **PROBE, latency_probe=2)
    answer = agent.receive()
    assert (answer["event"], answer["code"]) == ("error", "refused"), answer
