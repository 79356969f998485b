"""A screening request: a group of a study, a tuning, and how long to measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netlab.errors import BadInput, check, require
from netlab.files import paths
from netlab.files.yaml_file import validated
from netlab.search.screen.design import DESIGNS, Design
from netlab.search.screen.record import FOLDER, FULL_TUNING, LEAST_TUNING, NO_ROW
from netlab.study import Group, Study
from netlab.study.base import MAX_NAME
from netlab.study.model import resolved
from netlab.study.schedule import slug
from netlab.study.tuning_checks import fixed_buffer_text, is_moot, moot_knobs
from netlab.tuning.knobs import Choice, Knob
from netlab.tuning.profiles import Profile

CONFIRM_ROUNDS = 10


@dataclass(frozen=True)
class ScreenRequest:
    study: Study
    tuning: str
    group_name: str | None = None
    streams: int | None = None
    mtu_B: int | None = None
    design: str = DESIGNS[0]
    same_within_percent: float = 5.0
    confirm_rounds: int = CONFIRM_ROUNDS

    def __post_init__(self) -> None:
        require(self.design, DESIGNS, key="design", code="E-SCREEN-005")
        percent, text = self.same_within_percent, "must lie between 0 and 100"
        check(0 < percent < 100, "same_within", percent, text, "E-SCREEN-006")
        rounds = self.confirm_rounds
        check(3 <= rounds <= 1000, "confirm_rounds", rounds, "is from 3 to 1000", "E-SCREEN-007")
        study, group = self.study, self.group
        crossed = [*group.factors.over(study.factors).given(), *study.outer]
        text = (
            f"{group.name} crosses {', '.join(crossed)}, and a screen crosses knobs only; "
            "take a copy of the study without `factors` and `outer`"
        )
        check(not crossed, "group", group.name, text, "E-SCREEN-009")
        text = "this tuning sets nothing, so there is nothing to screen"
        check(self.profile.items, "tuning", self.tuning, text, "E-SCREEN-008")
        if is_moot(study, group, self.profile):
            text = fixed_buffer_text(study, group, moot_knobs(study, group, self.profile))
            raise BadInput(text, key="tuning", value=self.tuning, code="E-SCREEN-012")

    @property
    def group(self) -> Group:
        groups = {group.name: group for group in self.study.groups}
        name = next(iter(groups)) if len(groups) == 1 else ""
        name = name if self.group_name is None else self.group_name
        text = f"choose one of the study's groups: {', '.join(groups)}"
        check(name in groups, "group", self.group_name, text, "E-SCREEN-010")
        return groups[name]

    @property
    def directory(self) -> Path:
        """Default directory of the screen, below the results of the study."""
        several = len(self.study.groups) > 1
        name = f"{self.tuning}-{slug(self.group.name)}" if several else self.tuning
        return paths.results_dir(self.study.name) / FOLDER / name

    @property
    def profile(self) -> Profile:
        """The tuning with all that it extends."""
        named = {level.name: level.profile for level in self.study.tunings}.get(self.tuning)
        return resolved(self.study, named or self.tuning)

    @property
    def items(self) -> dict[str, Knob | Choice]:
        """Name -> knob or choice of the tuning, in the order they are applied."""
        return {
            item.parameter if isinstance(item, Choice) else item.label: item
            for item in self.profile.items
        }

    @property
    def mtus_B(self) -> tuple[int] | None:
        """The MTU to set in all rows; None to leave it as found, or to a knob of the tuning."""
        if self.mtu_B is not None:
            return (self.mtu_B,)
        levels = [level for level in self.study.tunings if level.name == self.tuning]
        mtus = [mtu_B for level in levels for mtu_B in level.mtus]
        return None if "mtu" in self.items or not mtus or mtus[0] is None else (mtus[0],)

    def screen_study(self, design: Design) -> Study:
        """The study whose tunings are the rows of a design."""
        return self._study("screen", f"Screen of {self.tuning}", design.rows, {})

    def confirm_study(self, least: tuple[str, ...]) -> Study:
        """The study that compares the whole tuning, its least set, and no knob at all."""
        rows = {FULL_TUNING: tuple(self.items), LEAST_TUNING: least, NO_ROW: ()}
        timing = self.study.timing.model_dump() | {"rounds": self.confirm_rounds}
        title = f"Least set of {self.tuning} against all of it"
        return self._study("least", title, rows, {"timing": timing, "precision": None})

    def _study(
        self, suffix: str, title: str, rows: dict[str, tuple[str, ...]], keys: dict
    ) -> Study:
        study, group, items = self.study, self.group, self.items
        streams = self.streams or (group.streams or study.streams)[0]
        path = study.paths[group.path]
        hosts = {
            name: study.hosts[name].model_dump(mode="python") | {"profiles": {}}
            for name in path.hosts
        }
        only = {"tunings": None, "mtus_B": None, "streams": None, "exclude": (), "table": None}
        levels = [
            {
                "name": name,
                "mtus_B": self.mtus_B,
                "knobs": [items[knob].model_dump(mode="python") for knob in chosen],
            }
            for name, chosen in rows.items()
        ]
        content = study.model_dump(mode="python") | {
            "name": f"{study.name[: MAX_NAME - len(suffix) - 1]}-{suffix}",
            "title": f"{title}: {study.title}"[:200],
            "hosts": hosts,
            "paths": {group.path: path.model_dump(mode="python")},
            "groups": [group.model_dump(mode="python") | only],
            "tunings": levels,
            "profiles": {},
            "exclude": (),
            "streams": (streams,),
            "published": None,
            "report": None,
            "quick": None,
        }
        return validated(Study, content | keys, study.name)
