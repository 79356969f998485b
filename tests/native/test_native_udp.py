"""UDP runs: every datagram counted once at both ends, and nothing believed of anybody else."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest
from native.agent_peers import hello
from native.spoken_agent import request
from waiting import until

RUN, TOKEN, SIZE_B = 1, "5a" * 16, 200
UDP = {"udp": 1, "record_B": SIZE_B, "run": RUN}
FAST = {**UDP, "pacing_Bps": 1_000_000}
LAYOUT = ">4sHQI"
FEW_DROPS = {"buffer_B": 4_000_000, "force_buffer": 1}


def datagram(sequence: int, *, token: str = TOKEN, stream: int = 0, size_B: int = SIZE_B) -> bytes:
    head = struct.pack(LAYOUT, bytes.fromhex(token)[:4], stream, sequence, 0)
    return head.ljust(size_B, b"x")


def counts(result: dict, stream: int = 0) -> dict[str, int]:
    """Counts of a stream above 0, but for its jitter."""
    udp = result["per_stream"][stream]["udp"]
    return {name: count for name, count in udp.items() if count and name != "jitter_ns"}


def assert_accounted(sink: dict) -> None:
    """The sockets dropped the lost ones, and on a busy machine the queue before them."""
    queue_drops = sink["meter"]["total"]["softnet"]["dropped"]
    for stream in sink["per_stream"]:
        udp = stream["udp"]
        assert udp["sent"] == udp["received"] + udp["lost"]
        assert 0 <= udp["lost"] - udp["socket_drops"] <= queue_drops


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("joined", [{}, {"gso": 1}, {"gro": 1}, {"gso": 1, "gro": 1}])
def test_every_datagram_is_received_lost_or_dropped_by_the_socket(agent, address, joined):
    ends = {"bind": address, "to": address, "from": address, **FEW_DROPS, **joined}
    sink, gen = agent.transfer(**FAST, **ends, streams=3, threads=2, window_ms=300)
    assert (sink["status"], gen["status"]) == ("ok", "ok"), (sink["message"], gen["message"])
    methods = ("gso" if "gso" in joined else "sendmmsg", "gro" if "gro" in joined else "recvmmsg")
    assert (gen["engine"], gen["send"], sink["receive"]) == ("udp", *methods)
    for sent, received in zip(gen["per_stream"], sink["per_stream"], strict=True):
        udp = received["udp"]
        assert sent["udp"]["sent"] == udp["sent"] == sent["bytes"] / SIZE_B > 100
        assert udp["received"] == received["bytes"] / SIZE_B
        assert udp["reordered"] == udp["duplicates"] == udp["invalid"] == 0
        assert sent["tcp"] is sent["tcp_t1"] is received["tcp"] is None
        assert sent["pacing_Bps"] == FAST["pacing_Bps"] and sent["mss_B"] == 0
    if "gro" not in joined:  # it counts a drop of several as one
        assert_accounted(sink)
    assert sink["rejected"]["datagrams"] == 0
    assert sink["interval_sum_bytes"] == sink["total_bytes"]


def test_a_stream_sends_at_its_rate_and_never_above(agent):
    _, gen = agent.transfer(**FAST, streams=2, warmup_ms=100, window_ms=400)
    for stream in gen["per_stream"]:
        udp, took_s = stream["udp"], (stream["t_end_ns"] - stream["t_first_ns"]) / 1e9
        due = FAST["pacing_Bps"] / SIZE_B * took_s
        # a thread without a CPU skips what it cannot catch up with, and sends the rest at its end
        assert due - 1 - FAST["pacing_Bps"] / SIZE_B < udp["sent"] + udp["skipped"] <= due + 1


def test_the_kernel_gets_paced_datagrams_a_few_ms_ahead(agent):
    sink, gen = agent.transfer(**FAST, kernel_pacing=1, window_ms=300)
    assert (sink["status"], gen["status"]) == ("ok", "ok"), gen["message"]
    (stream,) = gen["per_stream"]
    took_s = (stream["t_end_ns"] - stream["t_first_ns"]) / 1e9
    assert stream["udp"]["sent"] <= FAST["pacing_Bps"] / SIZE_B * (took_s + 0.005) + 1


def test_a_full_receive_buffer_drops_what_the_sink_counts(agent):
    small = {"record_B": 1000, "pacing_Bps": 400_000_000, "window_ms": 300}
    sink, gen = agent.transfer(**UDP | small, sink={"buffer_B": 4096})
    udp = sink["per_stream"][0]["udp"]
    assert sink["status"] == gen["status"] == "ok", (sink["message"], gen["message"])
    assert_accounted(sink)
    assert udp["socket_drops"] > 0 and 1 <= udp["burst_max"] <= udp["lost"]
    assert udp["sent"] == gen["per_stream"][0]["udp"]["sent"]


def test_a_probe_of_the_latency_shares_the_port(agent):
    probe = {"latency_interval_ms": 5, "latency_idle_ms": 100, "from": "127.0.0.1"}
    sink, gen = agent.transfer(**FAST, **probe, window_ms=300)
    assert sink["status"] == gen["status"] == "ok", (sink["message"], gen["message"])
    assert gen["latency"]["loaded"]["received"] > 0
    assert sink["latency"]["invalid"] == sink["latency"]["foreign"] == 0
    assert sink["per_stream"][0]["udp"]["invalid"] == 0


@pytest.mark.parametrize(
    ("verb", "options", "key"),
    [
        ("gen", {"pacing_Bps": 0}, "pacing_Bps"),
        ("gen", {"record_B": 17}, "record_B"),
        ("sink", {"record_B": 65_508}, "record_B"),
        ("gen", {"udp": 0, "gso": 1}, "gso"),
        ("gen", {"gso": 1, "fragment": 1}, "gso"),
        ("gen", {"bytes": 1000, "window_ms": ""}, "bytes"),
        ("gen", {"trace": 1}, "trace"),
        ("sink", {"engine": "epoll"}, "engine"),
        ("sink", {"receive": "discard"}, "receive"),
        ("gen", {"batch_B": 1}, "batch_B"),
    ],
)
def test_options_that_udp_does_not_have_are_refused(agent, verb, options, key):
    words = {**UDP, "streams": 1, "token": TOKEN, "window_ms": 100}
    ends = {"bind": "127.0.0.1"} if verb == "sink" else {"to": "127.0.0.1", "port": 9}
    words |= ends | ({} if verb == "sink" else {"pacing_Bps": 1000}) | options
    answer = agent.ask(request(verb, {k: v for k, v in words.items() if v != ""}))
    assert (answer["event"], answer["code"], answer["key"]) == ("error", "bad_request", key)


def test_datagrams_above_the_mtu_are_refused_unless_fragments_are_asked_for(agent):
    """The loopback takes 65,536 B, and a datagram of 65,507 B has 48 B of headers over IPv6."""
    large, window = {**UDP, "record_B": 65_507}, {"window_ms": 100}
    port, token = agent.sink(**large, **window, bind="::1", accept_ms=1000)
    agent.gen(port, token, **large, **window, to="::1", pacing_Bps=10_000_000)
    error = agent.receive()
    assert (error["event"], error["code"], error["key"]) == ("error", "refused", "record_B")
    assert "65536" in error["message"]
    assert agent.receive()["status"] == "timeout"
    asked = {"fragment": 1, "pacing_Bps": 10_000_000, "bind": "::1", "to": "::1"}
    sink, gen = agent.transfer(**large, **window, **asked)
    assert sink["status"] == gen["status"] == "ok", gen["message"]
    assert sink["per_stream"][0]["udp"]["received"] > 0


@pytest.mark.parametrize("asked", [{"udp": 1}, {"latency_interval_ms": 5, "from": "127.0.0.1"}])
def test_a_udp_port_in_use_is_an_error_before_the_run_that_names_the_option(agent, asked):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        words = {**UDP, "udp": 0, "bind": "127.0.0.1", "port": other.getsockname()[1], "streams": 1}
        answer = agent.ask(request("sink", {**words, **asked, "token": TOKEN, "window_ms": 100}))
    assert (answer["code"], answer["key"]) == ("in_use", next(iter(asked)))


class Gen:
    """A gen of the test with one stream: its connection and its datagram socket."""

    def __init__(self, port: int, source: str = "127.0.0.1"):
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind((source, 0))
        self.sink = ("127.0.0.1", port)
        self.connection = socket.create_connection(self.sink)
        own = struct.pack(">H", self.datagrams.getsockname()[1])
        self.connection.sendall(hello(RUN, 0, TOKEN)[:40] + own + bytes(22))
        self.control = socket.create_connection(self.sink)
        self.control.sendall(hello(RUN, 2, TOKEN)[:40] + own + bytes(22))

    def start(self) -> None:
        assert self.connection.recv(1) == b"G"

    def send(self, *sequences: int, **header: object) -> None:
        for sequence in sequences:
            self.datagrams.sendto(datagram(sequence, **header), self.sink)

    def end(self, sent: int) -> None:
        assert self.control.recv(1) == b"W"  # the window is over
        self.connection.sendall(struct.pack(">Q", sent))
        assert self.connection.recv(1) == b""


@pytest.fixture
def gen(agent) -> Iterator[Gen]:
    port, _ = agent.sink(**UDP, token=TOKEN, accept_ms=30_000, window_ms=500)
    made = Gen(port)
    with made.datagrams, made.connection, made.control:
        yield made


def test_loss_order_and_duplicates_are_those_that_arrived(agent, gen):
    gen.start()
    gen.send(0, 1, 4, 3, 3, 8, 9)
    gen.end(12)
    result = agent.receive()
    assert result["status"] == "ok", result["message"]
    lost = {"lost": 6, "bursts": 3, "burst_max": 3}  # 2, 5 to 7, 10 and 11
    expected = {"sent": 12, "received": 6, "reordered": 1, "duplicates": 1, **lost}
    assert counts(result) == expected
    assert result["total_bytes"] == 6 * SIZE_B


def test_datagrams_of_others_are_counted_and_nothing_answers_them(agent, gen):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", 0))
        gen.start()
        for sequence in range(5):
            other.sendto(datagram(sequence), gen.sink)
        gen.send(0)
        gen.send(1, token="00" * 16)
        gen.send(1, stream=1)
        gen.send(1, size_B=SIZE_B - 1)
        gen.send(1, size_B=SIZE_B + 1)
        gen.send(1 << 60)
        gen.datagrams.sendto(b"", gen.sink)
        gen.end(1)
        result = agent.receive()
        for silent in (other, gen.datagrams):
            silent.settimeout(0.1)
            with pytest.raises((TimeoutError, ConnectionRefusedError)):
                silent.recv(2048)
    assert result["status"] == "ok", result["message"]
    assert counts(result) == {"sent": 1, "received": 1, "invalid": 6}
    assert result["rejected"]["datagrams"] == 5


def test_a_gen_that_sent_more_than_it_says_is_an_error(agent, gen):
    gen.start()
    gen.send(0, 1, 2)
    gen.end(2)
    result = agent.receive()
    assert (result["status"], result["code"]) == ("error", "peer")
    assert "Protocol error" in result["message"] and counts(result)["received"] == 3


def test_a_gen_that_goes_without_its_number_is_an_error(agent, gen):
    gen.start()
    gen.send(0)
    gen.connection.close()
    result = agent.receive()
    assert (result["status"], result["code"]) == ("error", "peer")
    assert counts(result)["received"] == 1


def test_a_hello_without_a_port_is_rejected(agent):
    port, _ = agent.sink(**UDP, token=TOKEN, accept_ms=500)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(hello(RUN, 0, TOKEN))
        result = agent.receive()
    assert (result["status"], result["rejected"]["magic"]) == ("timeout", 1)


def test_a_sink_that_stops_ends_the_gen(agent):
    port, token = agent.sink(**UDP, window_ms=60_000)
    agent.gen(port, token, **FAST, window_ms=60_000)
    until(lambda: agent.ask("ping")["event"] == "pong")
    agent.say(f"stop run={RUN}")
    results = agent.receive_results()
    assert {result["status"] for result in results.values()} == {"stopped"}


def test_a_gen_whose_sink_is_gone_reports_a_refused_datagram(agent):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        agent.gen(listener.getsockname()[1], TOKEN, **FAST, window_ms=60_000)
        connection, _ = listener.accept()
        with connection:
            assert len(connection.recv(64, socket.MSG_WAITALL)) == 64
            connection.sendall(b"G")
            result = agent.receive()  # nobody has the port
    assert (result["event"], result["status"], result["code"]) == ("gen_result", "error", "peer")
    assert "Connection refused" in result["message"]
