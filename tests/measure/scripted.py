"""Agents that speak native/PROTOCOL.md from a script, and the answers of a run that went well."""

from collections import deque
from collections.abc import Callable

from netlab.errors import HostError
from netlab.measure.exchange import Request, RunEnd

SECOND_NS = 1_000_000_000
HEADERS_B = 66
"""Ethernet, IPv4 and TCP with timestamps."""


class Clock:
    """A clock that goes on when an agent is waited for."""

    def __init__(self):
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += max(1e-3, seconds)


class ScriptedAgent:
    """A channel whose answers to each verb are given by a function of the request's words."""

    def __init__(self, clock: Clock, **replies: Callable[[dict], list[dict]]):
        self.clock, self.replies = clock, replies
        self.requests: list[tuple[str, dict]] = []
        self.answers: deque[dict] = deque()
        self.gone = False

    def send(self, verb: str, **words: object) -> None:
        if self.gone:
            raise HostError("h", "gensink took no more requests")
        self.requests.append((verb, words))
        self.answers.extend(self.replies.get(verb, lambda _: [])(words))

    def poll(self, timeout_s: float) -> dict | None:
        if self.gone:
            raise HostError("h", "gensink ended")
        if self.answers:
            return self.answers.popleft()
        self.clock.now_s += timeout_s
        return None

    def asked(self, verb: str) -> list[dict]:
        return [words for said, words in self.requests if said == verb]


def good_agent(clock: Clock, **replies) -> ScriptedAgent:
    """An agent that answers every request at once."""
    script = {
        "sink": lambda words: [
            {"event": "listening", "run": words["run"], "port": 40000},
            result("sink", run=words["run"], streams=words["streams"]),
        ],
        "gen": lambda words: [result("gen", run=words["run"], streams=words["streams"])],
    }
    return ScriptedAgent(clock, **{**script, **replies})


def side(name: str, channel: ScriptedAgent) -> RunEnd:
    last = 1 if name == "a" else 2
    return RunEnd(name, channel, f"198.18.0.{last}", f"data-{name}", 1000 + last, 2000 + last)


def request(**changes: object) -> Request:
    """A request of two streams; or that with changes."""
    plain = {"streams": 2, "record_length_B": 65536, "congestion": "cubic", "receive": "copy"}
    plain |= {"warmup_ms": 300, "window_ms": 1000, "interval_ms": 100}
    return Request(**{**plain, "force_buffer": True, "both": False, **changes})


def tcp(sent_B: int, **values) -> dict:
    """TCP_INFO of one stream of a sender; a sink's reads the same keys."""
    return {
        **{"rtt_us": 200, "min_rtt_us": 50, "cwnd_segments": 40, "mss_B": 1448, "retransmits": 0},
        **{"busy_us": 1_000_000, "rwnd_limited_us": 250_000, "sndbuf_limited_us": 100_000},
        **{"bytes_acked": sent_B + 64 + 1, "bytes_received": sent_B + 64},
        **{"bytes_retransmitted": 0, **values},
    }


def meter(rx_bytes: int, tx_bytes: int, *, duration_ns: int, busy_us: int = 600_000) -> dict:
    """Differences of two snapshots of a machine of two cores, the second of them idle."""
    total_us = duration_ns // 1000
    busy = {"user_us": busy_us // 6, "system_us": busy_us // 2, "softirq_us": busy_us // 3}
    idle = dict.fromkeys(busy, 0)
    rest = dict.fromkeys(("nice_us", "iowait_us", "irq_us", "steal_us"), 0)
    interface = {"name": "data0", "rx_bytes": rx_bytes, "tx_bytes": tx_bytes, "wraps": 0}
    interface |= {"rx_packets": 1, "tx_packets": 1, "rx_errors": 0, "tx_errors": 0}
    return {
        "t0_ns": 0,
        "t1_ns": duration_ns,
        "interface": {**interface, "rx_dropped": 1, "tx_dropped": 2, "reset": False},
        "clock": {"steps": 0, "step_ns": 0, "drift_ns": 40, "unsure_ns": 200},
        "cpu": [
            {"cpu": 0, **busy, "idle_us": total_us - busy_us, **rest},
            {"cpu": 1, **idle, "idle_us": total_us, **rest},
        ],
        "interrupts": 5000,
        "context_switches": 7000,
        "softnet": {"processed": 9, "dropped": 3, "time_squeeze": 0},
        "process": {"user_us": 60_000, "system_us": 240_000},
    }


def result(role: str, *, run: int = 7, streams: int = 2, each_B: int = 14_000_000) -> dict:
    """Result of a gen or a sink for a run of 1.4 s whose ledger closes.

    Samples every 100 ms; the window is from 0.3 s to 1.3 s after the common start; every stream
    carries the same.
    """
    t_go_ns = 50 * SECOND_NS
    t_ns = [t_go_ns + step * SECOND_NS // 10 for step in range(15)]
    counts = [[each_B * step // 14 for step in range(15)] for _ in range(streams)]
    total_B, window_B = streams * each_B, counts[0][13] - counts[0][3]
    segments = total_B // 1448 + 1
    data_B, acks_B = total_B + segments * HEADERS_B, segments // 2 * HEADERS_B
    whole = 14 * SECOND_NS // 10
    rx_tx = (data_B, acks_B) if role == "sink" else (acks_B, data_B)
    stream = {
        **{"bytes": each_B, "window_bytes": window_B, "calls": 214, "t_end_ns": t_ns[-1]},
        **{"sndbuf_B": 524288, "rcvbuf_B": 262144, "congestion": "cubic", "errno": 0},
    }
    answer = {
        **{"event": f"{role}_result", "run": run, "status": "ok", "code": None, "message": None},
        **{"streams": streams, "t_go_ns": t_go_ns, "t_first_byte_ns": t_go_ns},
        "t_last_byte_ns": t_ns[-1],
        "window": {"t0_ns": t_ns[3], "t1_ns": t_ns[13], "bytes": streams * window_B},
        **{"total_bytes": total_B, "interval_sum_bytes": total_B, "trace": None},
        "per_stream": [{"stream": n, **stream, "tcp": tcp(each_B)} for n in range(streams)],
        "samples": {"interval_ms": 100, "t_ns": t_ns, "bytes": counts},
        "meter": {
            "window": meter(*rx_tx, duration_ns=SECOND_NS),
            "total": meter(*rx_tx, duration_ns=whole),
        },
    }
    if role == "sink":
        answer["accepted"] = streams
        names = ("short", "magic", "version", "run", "stream", "token", "twice", "late")
        answer["rejected"] = dict.fromkeys(names, 0)
    return answer
