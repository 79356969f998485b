"""Runs whose limit is known: links, shapers, buffers, losses and programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from netlab.lab.pair import RECEIVER, SENDER, lab_pair
from netlab.measure import bottleneck as words
from netlab.qualify.calibrated.cells import RECORD_LENGTH_B, check_levels
from netlab.qualify.words.places import (
    FOREIGN,
    Place,
    loaded,
    policed,
    shaped,
    stopped,
    undisturbed,
)
from netlab.study import Study

SMALL_B, SMALLER_B = 131_072, 65_536


@dataclass(frozen=True)
class Truth:
    name: str
    word: str
    link: Mapping[str, Any]
    congestion: str = "cubic"
    warmup_s: float = 0.5
    seconds: float = 2.0
    sysctls: Mapping[str, str] = field(default_factory=dict)
    buffer_B: int = 0
    receive_buffer_B: int = 0
    pacing_MBps: float | None = None
    cpu: str | None = None
    acts: Callable[[Place], AbstractContextManager[None]] = undisturbed
    path: str = ""


def _emulated(**more: float) -> dict:
    return {"emulator": {"with": "netlab", "rtt_ms": 20.0, **more}}


LINK = _emulated(rate_Mbps=200.0, queue_B=1_000_000)
WIDE = _emulated(rate_Mbps=500.0, queue_B=2_500_000)
CABLE = {"interrupt_delay_us": 0.0, "segmentation_offload": True, "checksum_offload": True}

TRUTHS = (
    Truth("link of 200 Mb/s", "link", LINK),
    Truth("tbf of 200 Mb/s, not stated", words.SHAPED, _emulated(), acts=shaped),
    Truth("policer of 200 Mb/s, not stated", words.POLICER, _emulated(), acts=policed),
    Truth("paced at 5 MB/s", "pacing", LINK, pacing_MBps=5.0),
    Truth(
        "tcp_wmem of 128 KiB",
        "send buffer",
        LINK,
        sysctls={"net.ipv4.tcp_wmem": f"4096 65536 {SMALL_B}"},
    ),
    Truth(
        "tcp_rmem of 128 KiB",
        "window",
        LINK,
        sysctls={"net.ipv4.tcp_rmem": f"4096 {SMALL_B} {SMALL_B}"},
    ),
    Truth(
        "tcp_wmem of 64 KiB, no delay",
        "send buffer",
        CABLE,
        sysctls={"net.ipv4.tcp_wmem": f"4096 16384 {SMALLER_B}"},
    ),
    Truth(
        "tcp_rmem of 64 KiB, no delay",
        "window",
        CABLE,
        sysctls={"net.ipv4.tcp_rmem": f"4096 {SMALLER_B} {SMALLER_B}"},
    ),
    Truth("receive buffer of 128 KiB asked for", words.ASKED, LINK, receive_buffer_B=SMALL_B),
    Truth(
        "loss of 0.05 %, Reno",
        "loss",
        WIDE | {"emulator": WIDE["emulator"] | {"loss": 0.0005}},
        "reno",
    ),
    Truth("loss of 1 %", "loss", WIDE | {"emulator": WIDE["emulator"] | {"loss": 0.01}}),
    Truth("receiver stopped 90 % of the time", words.RECEIVER, CABLE, acts=stopped(RECEIVER)),
    Truth("sender stopped 90 % of the time", words.SENDER, CABLE, acts=stopped(SENDER)),
    Truth(
        "200 ms, 1 Gb/s, window of 1 s",
        words.SLOW_START,
        {
            "emulator": {
                "with": "netlab",
                "rtt_ms": 200.0,
                "rate_Mbps": 1000.0,
                "queue_B": 25_000_000,
            }
        },
        warmup_s=0.3,
        seconds=1.0,
    ),
    Truth("both ends on one core", "CPU", CABLE, cpu="0"),
    Truth("two busy programs a CPU", FOREIGN, CABLE, acts=loaded),
)


@dataclass(frozen=True)
class WordsPlan:
    truths: Sequence[Truth] = TRUTHS
    repeats: int = 10

    def __post_init__(self) -> None:
        check_levels(("repeats", 1, 1000, (self.repeats,)))

    @property
    def study(self) -> Study:
        paths = {f"truth-{number}": truth for number, truth in enumerate(self.truths)}
        return lab_pair(
            "words",
            "Known limits",
            {name: dict(truth.link) for name, truth in paths.items()},
            [
                {
                    "name": name,
                    "path": name,
                    "record_length_B": RECORD_LENGTH_B,
                    "congestion": truth.congestion,
                    "buffer_B": truth.buffer_B,
                    "receive_buffer_B": truth.receive_buffer_B,
                }
                for name, truth in paths.items()
            ],
            force_buffer=True,
        )
