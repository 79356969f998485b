"""Made-up studies of 21 steps that change nothing."""

import synthetic

from netlab import study as studies
from netlab.analysis.measured import Measured, from_frames

STREAMS = "[1, 2, 3, 4, 6, 8, 12, 16]"
GROUPS = ("first", "second", "third")
CASES = 7 * len(GROUPS)


def null_study(directory, rounds: int) -> studies.Study:
    """Three groups that send alike over eight numbers of streams."""
    one = '{name: "<b>left</b> to right", path: rack, sender: left}'
    every = ", ".join(f"{{name: {name}, path: rack, sender: left}}" for name in GROUPS)
    text = synthetic.FOREIGN.replace("[1, 64]", STREAMS)
    text = text.replace(f"groups:\n  - {one}", f"groups: [{every}]")
    path = directory / f"null-{rounds}.yml"
    path.write_text(text, encoding="utf-8")
    return studies.load(path, rounds=rounds)


def null_pages(directory, rounds: int, pages: int):
    """Measure it so often: every cell has the same true goodput, and scatters by 5 %."""
    study = null_study(directory, rounds)
    for seed in range(pages):
        runs = synthetic.runs_of(study, seed=seed, noise=0.05, value=lambda *_: (100.0, "CPU"))
        yield from_frames(study, runs, None, None)


def again(measured: Measured, runs) -> Measured:
    """The same study with these runs alone."""
    return from_frames(measured.study, runs, None, None)
