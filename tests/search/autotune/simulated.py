"""A simulated path: goodput is a function of the candidate, time a simulated clock."""

import math
import random
from dataclasses import dataclass, field

from netlab.search.autotune.candidates import Candidate
from netlab.search.autotune.request import OBJECTIVES, SearchRequest, default_study
from netlab.search.autotune.run import Tuned
from netlab.search.autotune.search import Search, SearchResult
from netlab.study import Timing

START = Candidate(65536, 0, 1)
LEVELS = {
    "record_length_B": tuple(4096 << step for step in range(11)),
    "buffer_B": (0, 65536, 262144),
    "streams": (1, 2, 4, 8),
}
RUN_S = 0.5
FACTS = {"kernel": "6.1.0", "cpus": 2, "cpu_model": "A CPU: # of [many] kinds"}


def surface_MBps(candidate: Candidate) -> float:
    """A path with its best at records of 512 KiB and 4 streams, for any buffer."""
    record = abs(math.log2(candidate.record_length_B) - 19)
    streams = abs(math.log2(candidate.streams) - 2)
    return 5000 * math.exp(-0.15 * record - 0.3 * streams)


@dataclass
class Simulated:
    """A path of a function, noise and drift; every run advances the clock."""

    figure_MBps: object = surface_MBps
    noise: float = 0.02
    drift: float = 0.3
    seed: int = 1
    run_s: float = RUN_S
    spoil: object = lambda candidate, count, generator: ""
    now_s: float = 100.0
    taken: list[Candidate] = field(default_factory=list)

    def __post_init__(self):
        self.generator = random.Random(self.seed)

    def now(self) -> float:
        return self.now_s

    def take(self, candidate: Candidate) -> dict:
        self.now_s += self.run_s
        self.taken.append(candidate)
        spoilt = self.spoil(candidate, len(self.taken), self.generator)
        flags, _, code = spoilt.partition("/")
        figure = self.figure_MBps(candidate) * math.exp(self.generator.gauss(0, self.noise))
        figure *= math.exp(self.drift * math.sin(self.now_s / 10))
        sample = {"goodput_MBps": figure, "cpu_s_per_GB": 1e3 / figure, "flags": flags}
        if flags not in ("", "interference"):
            sample |= {"goodput_MBps": None, "cpu_s_per_GB": None}
        return {
            **sample,
            "message": flags and f"it was {flags}",
            **({"code": code} if code else {}),
        }


def search(
    path: Simulated, seconds: float = 120.0, start: Candidate = START, **more
) -> tuple[SearchResult, list[str]]:
    """Search the path; return the result and the log lines."""
    lines: list[str] = []
    settings_ = {"levels": LEVELS, "objective": OBJECTIVES["goodput"], **more}
    seed = settings_.pop("seed", 7)
    searching = Search(
        start,
        settings_.pop("levels"),
        path.take,
        settings_.pop("objective"),
        end_s=path.now() + seconds,
        run_s=RUN_S,
        now=path.now,
        generator=random.Random(seed),
        say=lines.append,
        **settings_,
    )
    return searching.run(), lines


def tuned(path: Simulated | None = None, aim: str = "goodput", **more) -> Tuned:
    """A finished search over a simulated path, as the command makes it."""
    asked = {"study": default_study(), "path": "lab", "aim": aim, "seed": 7}
    ask = SearchRequest(**{**asked, **more.pop("ask", {})})
    start = more.pop("start", ask.start)
    outcome, _ = search(path or Simulated(), 200, start, objective=OBJECTIVES[aim], **more)
    return Tuned(
        ask=ask,
        start=start,
        outcome=outcome,
        levels=LEVELS,
        refused={"receive=splice": "receive is copy or discard"},
        timing=Timing(rounds=1, seconds=0.5),
        mtu_B=1500,
        hosts={"gen": FACTS, "sink": FACTS},
        unsupported=[],
        started_at="2026-01-01T00:00:00Z",
        used_s=97.4,
    )
