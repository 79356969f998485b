"""Memory copy rate of one core of each machine: a ceiling of what its programs send and receive.

One machine with both ends is measured before each visit. On two machines each host measures itself
once a campaign, while no run uses it, and the campaign keeps the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netlab import core
from netlab.experiment.endpoint import Endpoint
from netlab.files.answers import checked
from netlab.files.bounded_json import parse_json, read_json
from netlab.files.recorded_facts import EndFacts
from netlab.files.writing import write_json
from netlab.measure.shared_machines import one_machine, with_controller
from netlab.study import Study
from netlab.study.schedule import Run

BUDGET_MS, OWN_BUDGET_MS = 100, 60
TIMEOUT_S = 15.0
"""For a host that is busy or slow; with 100 ms of copying it takes about 0.2 s."""

LEAST_MEMORY_kB = 1 << 20
"""The copies take 128 MiB."""

FILE = "copies.json"


@dataclass(frozen=True)
class Copies:
    one_MBps: float | None = None
    hot_MBps: float | None = None
    """Copies within the caches by all cores of one machine: no run copies more."""
    each_MBps: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        study: Study,
        path: str,
        endpoints: Mapping[str, Endpoint],
        directory: Path,
        campaign: str = "",
    ) -> Copies:
        """Measure the machines of a path, or take what the campaign has of them.

        The figure of each host, or the reason that there is none, goes to its facts as
        ``copy_MBps``.
        """
        facts = {name: endpoint.facts for name, endpoint in endpoints.items()}
        if with_controller(facts) == set(endpoints):
            copies = core.memory_copy_MBps(budget_ms=OWN_BUDGET_MS)
            cpus = max(found["cpus"] or 1 for found in facts.values())
            return cls(one_MBps=copies.cold_MBps, hot_MBps=cpus * copies.hot_MBps)
        if one_machine(facts):
            rate = _measured(next(iter(endpoints.values())))
            return cls(one_MBps=rate if isinstance(rate, float) else None)
        # loads pandas, which a check does not need
        from netlab.results.campaign_files import folder

        file = folder(directory, campaign) / FILE if campaign else None
        rates = _read(file) if file else {}
        measured = {
            name: rates[name] if name in rates else _measured(endpoint)
            for name, endpoint in endpoints.items()
        }
        if file and not measured.keys() <= rates.keys():
            write_json(file, {**rates, **measured})
        for name, endpoint in endpoints.items():
            endpoint.facts["copy_MBps"] = measured[name]
        return cls(each_MBps={n: rate for n, rate in measured.items() if isinstance(rate, float)})

    def ceiling(
        self, study: Study, run: Run, facts: Mapping[str, EndFacts]
    ) -> tuple[float | None, str]:
        """Most payload per second, MB/s, that the copies of both hosts allow; and its source.

        A stream is served by one core at a time. An end that sends or receives without copying has
        no such ceiling; of several senders the receiver alone has it.
        """
        if self.one_MBps is not None:
            return self.one_MBps, ""
        both = run.group.direction == "<->"
        copying = {run.group.sender: study.send, study.receiver(run.group): study.receive}
        if both and (study.send, study.receive) != ("copy", "copy"):
            return None, ""
        if len(study.senders(run.group)) > 1:  # each has a part of the streams
            del copying[run.group.sender]
        limits = []
        for host, rate_MBps in self.each_MBps.items():
            if copying.get(host) == "copy":
                cores = _cores(study, run.streams, facts[host]["cpus"], both)
                limits.append((rate_MBps * cores, host, cores))
        if not limits:
            return None, ""
        most_MBps, host, cores = min(limits)
        of = "one core" if cores == 1 else f"{cores} cores"
        return most_MBps, f"copies of cold memory by {of} of {host}, measured there"


def _cores(study: Study, streams: int, cpus: int | None, both: bool) -> int:
    """Most cores of a host that copy at a time: one a stream, a thread and a CPU."""
    threads = min(streams, study.threads or streams) * (2 if both else 1)
    return min(threads, cpus or threads)


def _measured(endpoint: Endpoint) -> float | str:
    """Rate of a host, MB/s, or the reason that there is none."""
    memory_kB = endpoint.facts["memory_kB"]
    if not memory_kB or memory_kB < LEAST_MEMORY_kB:
        return "unsupported: less than 1 GiB of memory"
    argv = (endpoint.binary, "copyrate", "--budget-ms", str(BUDGET_MS))
    done = endpoint.host.run(argv, check=False, timeout_s=TIMEOUT_S)
    try:
        return round(checked(parse_json(done.stdout))["cold_Bps"] / 1e6, 1)
    except (ValueError, KeyError):
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.exit_status}"]
        return f"unsupported: {reason[0]}"


def _read(file: Path) -> dict[str, float | str]:
    """Figures of a campaign; those of a file that is absent or damaged are measured again."""
    try:
        return read_json(file)
    except (OSError, ValueError):
        return {}
