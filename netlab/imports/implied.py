"""The study that imported runs imply."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.files.recorded_columns import column_json
from netlab.files.yaml_file import validated
from netlab.study.base import MAX_ROUNDS
from netlab.study.design import Study
from netlab.study.factors import crossed
from netlab.study.file import load_stored
from netlab.study.frozen import freeze
from netlab.study.stacks import KERNEL, LINUX
from netlab.tuning.profiles import AS_FOUND

if TYPE_CHECKING:
    import pandas as pd

DESCRIPTION = (
    "Imported runs of other tools. Addresses and interfaces of the hosts, and what a tuning set, "
    "are not known; those below stand in for them."
)
UNKNOWN = "unknown"
PLACES = ("192.0.2.1", "192.0.2.2")
"""Addresses of no host (RFC 5737)."""


def write_study(runs: pd.DataFrame, directory: Path) -> None:
    """Write the study of imported runs beside them, unless another one is there."""
    if (study := implied_study(runs, directory)) is not None:
        freeze(study, directory)


def implied_study(runs: pd.DataFrame, directory: Path) -> Study | None:
    """The study that imported runs imply; None where results have a study of their own."""
    file = directory / "study.yml"
    if runs["campaign"].notna().any() or (
        file.is_file() and load_stored(file).description != DESCRIPTION
    ):
        return None
    return study_of(runs)


def study_of(runs: pd.DataFrame) -> Study:
    """A study whose cells are those of the runs."""
    name = str(runs["study"].iloc[0])
    paths = runs[["path", "sender", "receiver"]].drop_duplicates("path").to_dict("records")
    hosts = sorted({host for path in paths for host in (path["sender"], path["receiver"])})
    laws = {*LINUX, UNKNOWN}
    return validated(
        Study,
        {
            "netlab": 1,
            "name": name,
            "title": f"Imported: {name}",
            "description": DESCRIPTION,
            "hosts": {host: {"kind": "ssh", "address": host} for host in hosts},
            "paths": {
                path["path"]: {
                    "ends": [
                        {"host": path[role], "address": address, "interface": UNKNOWN}
                        for role, address in zip(("sender", "receiver"), PLACES, strict=True)
                    ]
                }
                for path in paths
            },
            "groups": [_group(part) for _, part in runs.groupby("group", sort=False)],
            "tunings": [
                {"name": tuning}
                if tuning == AS_FOUND
                else {"name": tuning, "knobs": [], "mtus_B": sorted(map(int, set(part["mtu_B"])))}
                for tuning, part in runs.groupby("tuning")
            ],
            "stacks": {
                name: {"law": KERNEL}
                for name in sorted(set(runs["congestion"]) - laws)
                if _CONGESTION.fullmatch(name)
            },
            "streams": sorted(map(int, set(runs["streams"]))),
            "timing": {
                "rounds": int(min(MAX_ROUNDS, runs.groupby(_CELL).size().min())),
                "seconds": min(3600.0, max(0.05, round(float(runs["window_s"].median()), 3))),
                "warmup_s": min(600.0, float(runs["warmup_s"].median())),
            },
        },
        f"the study of the runs of {name}",
    )


_CONGESTION = re.compile(r"[a-z0-9_-]{1,31}")
_CELL = ["group", "tuning", "mtu_B", "streams", "factors"]


def _group(runs: pd.DataFrame) -> dict:
    """A group of the study, without the combinations of its levels that no run has."""
    first = runs.iloc[0]
    levels = [column_json(text, "factors") for text in runs["factors"]]
    of: dict[str, list] = {
        "tuning": [str(name) for name in runs["tuning"]],
        "mtu_B": [int(mtu_B) for mtu_B in runs["mtu_B"]],
        "streams": [int(streams) for streams in runs["streams"]],
        **{name: [one[name] for one in levels] for name in levels[0]},
    }
    if set(of["tuning"]) == {AS_FOUND}:
        del of["mtu_B"]
    has = set(zip(*of.values(), strict=True))
    each = {name: tuple(sorted(set(values))) for name, values in of.items()}
    missing = [dict(one) for one in crossed(each) if tuple(dict(one).values()) not in has]
    named = str(first["congestion"])
    own = named != UNKNOWN and _CONGESTION.fullmatch(named)
    return {
        "name": str(first["group"]),
        **{name: str(first[name]) for name in ("path", "sender", "direction")},
        "record_length_B": min(int(first["record_length_B"]) or 65536, 2**26),
        "buffer_B": min(int(first["buffer_B"]), 2**30),
        "tunings": each["tuning"],
        "streams": each["streams"],
        "factors": {name: each[name] for name in levels[0]},
        "exclude": [one for one in missing if one["tuning"] != AS_FOUND],
        **({"mtus_B": each["mtu_B"]} if "mtu_B" in of else {}),
        **({"congestion": named} if own else {}),
    }
