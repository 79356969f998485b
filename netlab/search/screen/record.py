"""A finished screen as it is stored: effects of knobs, the least set, and its confirmation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.analysis.compare import CANNOT_TELL, FASTER, NO_INTERVAL, SAME, SLOWER
from netlab.errors import NetlabError, why
from netlab.files.bounded_json import read_json
from netlab.files.writing import write_json

VERSION = 2
"""Of the stored document; a second call of the command writes it anew and repeats no run."""

FOLDER, DOCUMENT = "screens", "screen.json"
"""Screens of a study are in ``screens/NAME/screen.json`` below its results."""

EFFECTS = "effects"
"""Directory of the campaign of the effects below that of a screen."""

FULL_TUNING, LEAST_TUNING, NO_ROW = "full-tuning", "least-set", "no-knob"
"""Tunings of the confirmation."""

UNCLEAR = "cannot tell"
NO_GAIN = "empty, as no knob matters"

VERDICTS = {
    SAME: "confirmed",
    FASTER: "better than the whole tuning",
    SLOWER: "slower than the whole tuning",
    CANNOT_TELL: UNCLEAR,
    NO_INTERVAL: NO_INTERVAL,
}


@dataclass(frozen=True)
class Against:
    """The least set against another tuning of the confirmation."""

    other: str
    ratio: float
    low: float
    high: float
    verdict: str
    rounds: int


@dataclass(frozen=True)
class Confirmation:
    """A set of knobs against the whole tuning and against no knob, in rounds of its own."""

    knobs: tuple[str, ...]
    against: tuple[Against, ...]

    @property
    def whole(self) -> Against:
        return next(one for one in self.against if one.other == FULL_TUNING)


@dataclass(frozen=True, eq=False)
class ScreenRecord:
    """A finished screen, without the runs."""

    study: str
    tuning: str
    group: str
    path: str
    design: str
    started_at: str
    rows: Mapping[str, tuple[str, ...]]
    effects: pd.DataFrame
    same_within_percent: float
    runs: int
    valid_runs: int
    unsupported: tuple[dict, ...]
    unchanged: tuple[dict, ...]
    refused_rows: Mapping[str, int]
    tries: tuple[Confirmation, ...]
    least_tuning: dict[str, Any]
    campaign: str = ""
    """That of the effects; empty where an older netlab stored none."""

    @property
    def least_set(self) -> tuple[str, ...]:
        """The least set; empty if no knob helps."""
        return self.tries[-1].knobs if self.tries else ()

    @property
    def verdict(self) -> str:
        """Result of the last confirmation in words; an empty set has none."""
        if self.tries:
            return VERDICTS[self.tries[-1].whole.verdict]
        open_words = {*self.effects["verdict"]} & {CANNOT_TELL, NO_INTERVAL}
        return VERDICTS[min(open_words)] if open_words else NO_GAIN

    @property
    def concluded(self) -> bool:
        """True if the least set is confirmed to give the whole gain, or there is no gain."""
        return self.verdict in (VERDICTS[SAME], VERDICTS[FASTER], NO_GAIN)

    @property
    def knobs(self) -> tuple[str, ...]:
        """Knobs that are factors, in the order they are applied."""
        return tuple(self.effects.loc[self.effects["with_knob"] == "", "knob"])

    @property
    def left_out(self) -> dict[str, str]:
        return reasons_of(self.unsupported, self.unchanged, self.knobs)


def reasons_of(
    unsupported: tuple[dict, ...], unchanged: tuple[dict, ...], factors: tuple[str, ...]
) -> dict[str, str]:
    """Knob that is not a factor -> hosts that lack it, or have it at the wanted value already."""
    hosts: dict[str, dict[str, list[str]]] = {}
    for one in (*unsupported, *unchanged):
        reason = one["reason"] if "reason" in one else f"is {one['value']} already"
        hosts.setdefault(one["knob"], {}).setdefault(reason, []).append(one["host"])
    return {
        knob: "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
        for knob, reasons in hosts.items()
        if knob not in factors
    }


def smallest_effect_percent(effects: pd.DataFrame) -> float:
    """Half the widest interval of a knob, in per cent: smaller effects may have been missed."""
    single = effects[effects["with_knob"] == ""]
    widths = (single["high"] / single["low"]).astype(float) ** 0.5 - 1
    return math.nan if widths.isna().any() else 100 * float(widths.max())


def write_screen(record: ScreenRecord, path: Path) -> Path:
    content = vars(record) | {
        "netlab_screen": VERSION,
        "effects": record.effects.to_dict("records"),
        "least_set": record.least_set,
        "verdict": record.verdict,
        "confirmations": [asdict(one) for one in record.tries],
    }
    del content["tries"]
    return write_json(path, content)


def read_screen(path: Path) -> ScreenRecord:
    try:
        content = read_json(path)
        if content["netlab_screen"] != VERSION:
            text = "written by another version of netlab; screen again: no valid run is repeated"
            raise ValueError(text)
        return _record(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        text = f"{path} cannot be read as a screen: {why(error)}"
        raise NetlabError(text, code="E-ANALYSIS-041") from None


def _record(content: dict) -> ScreenRecord:
    ratios = ("ratio", "low", "high", "p_holm")
    tries = []
    for one in content["confirmations"]:
        # JSON has no NaN
        sides: list[dict[str, Any]] = [
            {k: math.nan if v is None else v for k, v in s.items()} for s in one["against"]
        ]
        tries.append(Confirmation(tuple(one["knobs"]), tuple(Against(**side) for side in sides)))
    names = ScreenRecord.__dataclass_fields__.keys() - {"tries", "campaign"}
    fields = {name: content[name] for name in names}
    fields["campaign"] = str(content.get("campaign", ""))
    fields |= {
        "rows": {name: tuple(knobs) for name, knobs in content["rows"].items()},
        "effects": pd.DataFrame(content["effects"]).astype(dict.fromkeys(ratios, float)),
        "unsupported": tuple(content["unsupported"]),
        "unchanged": tuple(content["unchanged"]),
    }
    record = ScreenRecord(**fields, tries=tuple(tries))
    _ = record.verdict  # one that this version knows
    return record


def screen_files(results: Path) -> list[Path]:
    """Documents of the screens below a directory of results, in order of their names."""
    return sorted((results / FOLDER).glob(f"*/{DOCUMENT}"))
