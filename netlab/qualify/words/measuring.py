"""Measure runs whose limit is known."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from netlab.errors import RunError, check
from netlab.experiment.conditions import stable_facts
from netlab.experiment.emulation import Emulation
from netlab.experiment.endpoint import open_endpoints
from netlab.experiment.found_facts import host_facts
from netlab.experiment.trial import core_run, measurement, request_of, setting_of, side_of
from netlab.lab.lab import Lab
from netlab.lab.pair import RECEIVER, SENDER
from netlab.lab.reaper import SEARCH_PATH
from netlab.measure import bottleneck as words
from netlab.qualify.calibrated.cells import RECORD_LENGTH_B
from netlab.qualify.words.confusion import KnownLimits
from netlab.qualify.words.places import FOREIGN, Place
from netlab.qualify.words.truths import Truth, WordsPlan
from netlab.results.flags import Flag, split_flags
from netlab.study import Group, Socket, Study, Timing

MTU_B = 1500
INTERVAL_MS = 50
LARGE = {
    "net.ipv4.tcp_wmem": "4096 65536 16777216",
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
}
"""Buffers that no path here fills, so that each truth alone is the limit."""

RUN_S = 2.5

ATTEMPTS = 2
"""Most runs of a truth, as a multiple of those that count."""


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
            made = measurement(
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
        failed = dict.fromkeys(STORED) | {"flags": Flag.FAILED, "message": str(error)}
        return {**failed, "word": "unknown", "left_out": False}
    word = words.bottleneck(made.row)
    disturbed = Flag.INTERFERENCE in split_flags(made.row["flags"])
    left_out = disturbed and word == FOREIGN != truth.word
    return {**{name: made.row[name] for name in STORED}, "word": word, "left_out": left_out}
