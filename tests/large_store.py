"""Large stores of campaigns that were never measured, in the files that netlab itself writes.

    python tests/large_store.py DIRECTORY [CAMPAIGNS [RUNS [SAMPLES]]]

writes one campaign of 10^5 runs with 100 samples each, or as many as asked for. The records of one
round are made as other tests make them; further rounds repeat them with goodputs and times of their
own, so that the numbers of files and rows are real and the time stays short.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent))

import campaigns
import synthetic

from netlab import study as studies
from netlab.experiment.conditions import conditions_of
from netlab.results import campaign_files
from netlab.results.campaign_files import CampaignLog, part_name
from netlab.results.store import Store
from netlab.study import Study
from netlab.study.frozen import freeze
from netlab.study.schedule import Visit, rounds
from netlab.version import version

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ROUND_SD, RUN_SD, SAMPLE_SD = 0.02, 0.03, 0.05
"""Relative scatter that the runs of a round share, that of each run, and that of each sample."""
WARMUP, INTERVAL_S = 0.1, 0.1
STREAMS = (*range(1, 21), 24, 32, 48, 64, 100)
KNOBS = [{"kind": "sysctl", "name": "net.ipv4.tcp_no_metrics_save", "value": 1}]


@dataclass(frozen=True)
class Size:
    """Of a study: cells are paths × 2 directions × 2 tunings × streams; a visit has two groups."""

    paths: int = 10
    streams: int = 25
    rounds: int = 100
    campaigns: int = 1
    samples: int = 100

    @property
    def runs(self) -> int:
        """Runs of each campaign."""
        return self.paths * 2 * 2 * self.streams * self.rounds


def study_of(size: Size) -> Study:
    """A study of pairs of hosts, each measured in both directions, with and without a tuning."""
    pairs = [(f"left-{n}", f"right-{n}") for n in range(size.paths)]
    ends = {
        f"rack-{n}": [
            {"host": host, "address": f"10.{n}.0.{at}", "interface": "eth1"}
            for at, host in enumerate(pair, 1)
        ]
        for n, pair in enumerate(pairs)
    }
    senders = [(f"rack-{n}", host) for n, pair in enumerate(pairs) for host in pair]
    return studies.load(
        {
            **{"netlab": 1, "name": "racks", "title": "Racks"},
            "hosts": {h: {"kind": "ssh", "address": f"{h}.example"} for p in pairs for h in p},
            "paths": {name: {"ends": of} for name, of in ends.items()},
            "groups": [{"name": f"from {h}", "path": path, "sender": h} for path, h in senders],
            "tunings": [{"name": "as-found"}, {"name": "full", "knobs": KNOBS}],
            "streams": list(STREAMS[: size.streams]),
            "timing": {"rounds": size.rounds, "seconds": 9.0, "warmup_s": 1.0},
        }
    )


def samples_of(runs: pd.DataFrame, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Interval samples of runs: the same number for each, dealt out to its streams."""
    rows = runs.loc[runs.index.repeat(count), ["run_id", "streams", "goodput_MBps"]]
    within, streams = np.tile(np.arange(count), len(runs)), rows["streams"].to_numpy(int)
    place, per_stream = within // streams, -(-count // streams)
    noise = 1 + SAMPLE_SD * rng.standard_normal(len(rows))
    rates = rows["goodput_MBps"].to_numpy(float) / streams * 1e6
    columns = {
        "run_id": rows["run_id"].to_numpy(object),
        "direction": "forward",
        "stream": within % streams,
        "t_s": (place + 1) * INTERVAL_S,
        "interval_s": INTERVAL_S,
        "bytes": (rates * INTERVAL_S * noise).astype(np.int64),
        "in_window": (place >= WARMUP * per_stream) | (per_stream == 1),
        **dict.fromkeys(("rtt_p50_us", "rtt_p99_us"), np.nan),
    }
    return pd.DataFrame(columns).astype({"run_id": "string", "direction": "string"})


def write(directory: Path, size: Size) -> Study:
    """Write the campaigns, each under another kernel, so that the last one supersedes the others.

    Returns the study.
    """
    study, store = study_of(size), Store(directory)
    first = synthetic.runs_of(studies.load(study.model_dump(mode="json"), rounds=1))
    blocks = dict(list(first.groupby("block_id", sort=False)))
    planned, rng = rounds(study), np.random.default_rng(17)
    for number in range(size.campaigns):
        begin = BEGIN + timedelta(days=number)
        campaign, facts = f"{begin:%Y%m%dT%H%M%SZ}", _facts(study, f"6.1.{number}")
        log = CampaignLog(
            *(campaign, "key", begin.isoformat(timespec="seconds"), study.name, study.digest()),
            version=version(),
            rule="conditions",
        )
        conditions = conditions_of(study, facts, None, (), campaign_files.Conditions())
        freeze(study, campaign_files.folder(directory, campaign))
        campaign_files.write_conditions(directory, campaign, conditions)
        campaign_files.write_log(directory, log)
        for visit in (one for each in planned for one in each):
            runs = _of_visit(blocks[visit.block_id], visit, rng)
            cells = runs["run_id"].str.rpartition("@")[0]
            runs = runs.assign(
                campaign=campaign,
                provenance_key=cells.map(conditions.keys),
                provenance=campaigns.provenance_of(facts[visit.link]),
                started_at=runs["started_at"] + (begin - BEGIN),
            )
            runs = runs.astype(first.dtypes.to_dict())
            samples = samples_of(runs, size.samples, rng)
            store.write(part_name(campaign, visit.visit_id, ()), runs, samples)
    return study


def _of_visit(runs: pd.DataFrame, visit: Visit, rng: np.random.Generator) -> pd.DataFrame:
    """The records of a block's first visit as those of another one, in the order of measuring."""
    planned = {run.run_id.rpartition("@")[0]: run for run in visit.runs}
    cells = [run_id.rpartition("@")[0] for run_id in runs["run_id"]]
    noise = rng.normal(0, ROUND_SD) + rng.normal(0, RUN_SD, len(runs))
    orders = np.array([planned[cell].order for cell in cells])
    return runs.assign(
        run_id=[planned[cell].run_id for cell in cells],
        round=visit.round,
        order=orders,
        goodput_MBps=runs["goodput_MBps"] * np.exp(noise),
        goodput_forward_MBps=runs["goodput_forward_MBps"] * np.exp(noise),
        started_at=pd.Timestamp(BEGIN) + pd.to_timedelta(orders * 10.2, unit="s"),
    ).sort_values("order", ignore_index=True)


def _facts(study: Study, kernel: str) -> campaigns.Facts:
    found = {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_no_metrics_save": "0"}
    facts = {**campaigns.HOST, "kernel": kernel, "nic_driver": "ixgbe", "found": found}
    return {
        name: {end.host: dict(facts) for end in path.ends} for name, path in study.paths.items()
    }


if __name__ == "__main__":
    wanted = [int(text) for text in sys.argv[2:5]]
    count, runs, samples = (*wanted, *(1, 100_000, 100)[len(wanted) :])
    if runs >= 1000:
        size = Size(rounds=runs // 1000, campaigns=count, samples=samples)
    else:
        size = Size(1, 1, runs // 4, count, samples)
    write(Path(sys.argv[1]), size)
    print(f"{size.campaigns} campaigns of {size.runs} runs, {size.samples} samples each")
