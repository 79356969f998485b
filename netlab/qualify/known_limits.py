"""Known limits: lab paths and programs whose bottleneck is known, and the words of their runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.errors import RunError, check
from netlab.experiment.conditions import stable_facts
from netlab.experiment.endpoint import Endpoint, host_facts, open_endpoints
from netlab.experiment.trial import Emulation, core_run, measured, request_of, setting_of, side_of
from netlab.files.tables import Table
from netlab.files.writing import write_json
from netlab.lab.lab import Lab
from netlab.lab.namespaces import tool
from netlab.lab.reaper import SEARCH_PATH
from netlab.lab.topology import RECEIVER, SENDER, lab_pair
from netlab.measure import bottleneck as words
from netlab.measure.flags import INTERFERENCE
from netlab.qualify.calibration_cells import RECORD_LENGTH_B, check_levels
from netlab.study import Group, Socket, Study, Timing
from netlab.version import version

FOREIGN = "foreign CPU"
MTU_B = 1500
INTERVAL_MS = 50
LARGE = {
    "net.ipv4.tcp_wmem": "4096 65536 16777216",
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
}
"""Buffers that no path here fills, so that each truth alone is the limit."""

SMALL_B = 131_072
STOPPED_SHARE, STOPPED_EACH_S = 0.9, 0.1
MOST_S = 120
"""Longest time of a program that loads the CPUs, should netlab be killed meanwhile."""

RUN_S = 2.5
LEAST_RIGHT = 0.9
ATTEMPTS = 2
"""Most runs of a truth, as a multiple of those that count."""


@dataclass(frozen=True)
class Place:
    """Where a truth is made: the lab and the open ends of its path."""

    lab: Lab
    endpoints: Mapping[str, Endpoint]

    def run(self, host: str, *argv: str) -> None:
        tool(self.lab.inside(host, argv), host=host)


# What acts on a path or a program while its runs are measured.


@contextmanager
def _shaped(place: Place) -> Iterator[None]:
    device = place.endpoints[SENDER].interface
    bucket = ("tbf", "rate", "200mbit", "burst", "64kb", "limit", "500kb")
    place.run(SENDER, "tc", "qdisc", "replace", "dev", device, "root", *bucket)
    yield


@contextmanager
def _policed(place: Place) -> Iterator[None]:
    device = place.endpoints[RECEIVER].interface
    rule = f"iifname {device} limit rate over 25 mbytes/second burst 64 kbytes drop"
    chain = "type filter hook input priority 0 ;"
    rules = ("add table inet police", f"add chain inet police in {{ {chain} }}")
    place.run(RECEIVER, "nft", "; ".join((*rules, f"add rule inet police in {rule}")))
    try:
        yield
    finally:
        place.run(RECEIVER, "nft", "delete table inet police")


def _stopped(host: str) -> Callable[[Place], AbstractContextManager[None]]:
    @contextmanager
    def of(place: Place) -> Iterator[None]:
        """Stop the agent of a host for most of the time, as a program that is busy elsewhere."""
        pid, over = place.endpoints[host].pid or 0, threading.Event()

        def stop_again() -> None:
            while not over.is_set():
                for number, share in (
                    (signal.SIGSTOP, STOPPED_SHARE),
                    (signal.SIGCONT, 1 - STOPPED_SHARE),
                ):
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
                    over.wait(share * STOPPED_EACH_S)

        thread = threading.Thread(target=stop_again, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    return of


@contextmanager
def _loaded(_place: Place) -> Iterator[None]:
    """Two programs for each CPU."""
    loop = ("timeout", str(MOST_S), "sh", "-c", "while :; do :; done")
    count = 2 * len(os.sched_getaffinity(0))
    running = [subprocess.Popen(loop, process_group=0) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _undisturbed(_place: Place) -> AbstractContextManager[None]:
    return nullcontext()


# The truths.


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
    acts: Callable[[Place], AbstractContextManager[None]] = _undisturbed
    path: str = ""


def _emulated(**more: float) -> dict:
    return {"emulator": {"with": "netlab", "rtt_ms": 20.0, **more}}


LINK = _emulated(rate_Mbps=200.0, queue_B=1_000_000)
WIDE = _emulated(rate_Mbps=500.0, queue_B=2_500_000)
CABLE = {"interrupt_delay_us": 0.0, "segmentation_offload": True, "checksum_offload": True}

TRUTHS = (
    Truth("link of 200 Mb/s", "link", LINK),
    Truth("tbf of 200 Mb/s, not stated", words.SHAPED, _emulated(), acts=_shaped),
    Truth("policer of 200 Mb/s, not stated", words.POLICER, _emulated(), acts=_policed),
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
    Truth("receive buffer of 128 KiB asked for", words.ASKED, LINK, receive_buffer_B=SMALL_B),
    Truth(
        "loss of 0.05 %, Reno",
        "loss",
        WIDE | {"emulator": WIDE["emulator"] | {"loss": 0.0005}},
        "reno",
    ),
    Truth("loss of 1 %", "loss", WIDE | {"emulator": WIDE["emulator"] | {"loss": 0.01}}),
    Truth("receiver stopped 90 % of the time", words.RECEIVER, CABLE, acts=_stopped(RECEIVER)),
    Truth("sender stopped 90 % of the time", words.SENDER, CABLE, acts=_stopped(SENDER)),
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
    Truth("two busy programs a CPU", FOREIGN, CABLE, acts=_loaded),
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


# Measure the truths.


def measure_words(plan: WordsPlan, *, progress: Callable[[dict], None]) -> KnownLimits:
    found = shutil.which("nft", path=SEARCH_PATH)
    check(found, "nft", None, "is not installed; a policer needs it", "E-CALIBRATION-021")
    study = plan.study
    samples: list[dict] = []
    # never a lab that is up already: what acts on its paths is not reverted
    with Lab.up(study, owned=True) as lab:
        facts = stable_facts(next(iter(host_facts(study, lab=lab).values()))[SENDER])
        for group, truth in zip(study.groups, plan.truths, strict=True):
            with open_endpoints(study, group.path, lab=lab) as endpoints:
                place = Place(lab, endpoints)
                for host in (SENDER, RECEIVER):
                    for knob, value in {**LARGE, **truth.sysctls}.items():
                        place.run(host, "sysctl", "-qw", f"{knob}={value}")
                emulation = Emulation.of(study, group.path, lab, interval_ms=INTERVAL_MS)
                counted = 0
                for number in range(1, ATTEMPTS * plan.repeats + 1):
                    row = _run(study, group, truth, place, emulation)
                    sample = {"truth": truth.name, "expected": truth.word, "run": number, **row}
                    samples.append(sample)
                    progress(sample)
                    counted += not sample["left_out"]
                    if counted == plan.repeats:
                        break
    return KnownLimits(plan, samples, facts)


STORED = (
    *("goodput_MBps", "rate_variation_percent", "rtt_us", "min_rtt_us", "retransmits", "sent_B"),
    *("rwnd_limited_share", "sndbuf_limited_share", "idle_share", "closed_share"),
    *("sender_waited_share", "receiver_waited_share", "busiest_core_percent"),
    *("steal_percent", "foreign_cpu_percent", "flags", "message"),
)


def _run(
    study: Study, group: Group, truth: Truth, place: Place, emulation: Emulation | None
) -> dict:
    timing = Timing(
        rounds=1, seconds=truth.seconds, warmup_s=truth.warmup_s, interval_ms=INTERVAL_MS
    )
    request = request_of(
        study,
        timing,
        streams=1,
        record_length_B=RECORD_LENGTH_B,
        congestion=truth.congestion,
        socket=Socket(pacing_MBps=truth.pacing_MBps),
    )
    ends = place.endpoints
    sender = side_of(ends[SENDER], buffer_B=truth.buffer_B, cpus=truth.cpu)
    receiver = side_of(ends[RECEIVER], buffer_B=truth.receive_buffer_B, cpus=truth.cpu)
    fields = {"direction": "->", "streams": 1, "mtu_B": MTU_B, "generator": "netlab"}
    fields |= {"buffer_B": truth.buffer_B, "receive_buffer_B": truth.receive_buffer_B}
    facts = {name: end.facts for name, end in ends.items()}
    try:
        with truth.acts(place):
            made = measured(
                lambda: core_run(sender, receiver, request, mtu_B=MTU_B),
                setting=setting_of(study, group.path, MTU_B, group=group, facts=facts),
                timing=timing,
                group=group,
                endpoints=ends.values(),
                run_id="words",
                emulation=emulation,
                named=lambda result: fields,
            )
    except RunError as error:
        failed = dict.fromkeys(STORED) | {"flags": "failed", "message": str(error)}
        return {**failed, "word": "unknown", "left_out": False}
    word = words.bottleneck(made.row)
    disturbed = INTERFERENCE in made.row["flags"].split(",")
    left_out = disturbed and word == FOREIGN != truth.word
    return {**{name: made.row[name] for name in STORED}, "word": word, "left_out": left_out}


# The confusion table.

NOTE = (
    "A run that other programs disturbed, and that has the word foreign CPU, is left out: its "
    "limit may be theirs."
)


@dataclass(frozen=True, eq=False)
class KnownLimits:
    plan: WordsPlan
    samples: list[dict]
    machine: dict

    @property
    def confusion(self) -> pd.DataFrame:
        """A row a truth: its word, its runs, those with that word, and the count of each word."""
        rows = []
        for truth in self.plan.truths:
            own = [sample for sample in self.samples if sample["truth"] == truth.name]
            given = [sample["word"] for sample in own if not sample["left_out"]]
            counts = {"right": given.count(truth.word), "runs": len(given)}
            counts["left_out"] = len(own) - len(given)
            rows.append(
                {"truth": truth.name, "word": truth.word, **counts}
                | {word: given.count(word) for word in words.VERDICTS}
            )
        frame = pd.DataFrame.from_records(rows)
        fixed = ["truth", "word", "right", "runs", "left_out"]
        return frame[[*fixed, *(word for word in words.VERDICTS if frame[word].any())]]

    @property
    def table(self) -> Table:
        heads = {"truth": "Limit", "word": "Its word", "right": "Right", "runs": "Runs"}
        frame = self.confusion.set_index("truth")
        return Table(
            frame, "Words of runs whose limit is known", heads | {"left_out": "Left out"}, note=NOTE
        )

    @property
    def complaint(self) -> str | None:
        frame = self.confusion
        wrong = frame[frame["right"] < LEAST_RIGHT * frame["runs"].clip(lower=1)]
        if wrong.empty:
            return None
        listed = ", ".join(f"{row.truth} ({row.right} of {row.runs})" for row in wrong.itertuples())
        return f"{len(wrong)} of {len(frame)} known limits are not named in 9 of 10 runs: {listed}"

    def to_text(self) -> str:
        frame = self.confusion.astype(object).where(self.confusion != 0, "-")
        shown = frame.rename(columns=dict(self.table.heads)).to_string(index=False)
        return f"{self.table.title}\n{shown}\n\n{NOTE}"

    def save(self, directory: Path, started_at: str) -> Path:
        self.table.export(directory / "words")
        document = {
            "netlab_words": 1,
            "started_at": started_at,
            "netlab": version(),
            "machine": self.machine,
            "confusion": self.confusion.to_dict("records"),
            "samples": self.samples,
        }
        return write_json(directory / "words.json", document, durable=True)
