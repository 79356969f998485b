"""The short form of a study: a first look that takes a fraction of the time."""

from __future__ import annotations

from netlab.errors import BadInput
from netlab.study.base import MAX_NAME, QUICK
from netlab.study.design import Study
from netlab.study.groups import Group, Timing

SHORT_ROUNDS = 2
"""The fewest that give an interval."""
SHARE = 0.25
"""Of the study's measured seconds."""
LEAST_S, MOST_S = 0.5, 10.0
SAMPLES = 5
"""The fewest samples of a run."""


def derived_timing(study: Study) -> Timing:
    """Timing of the short form of a study that does not give one under ``quick``.

    At most two rounds of a quarter of the seconds, within 0.5 and 10 s and never more than the
    study's own. The warm-up stays: how long a path needs to settle does not depend on the form.
    The seconds stay too where a shorter run would be over before a loss that a group forces.
    """
    timing = study.timing
    seconds = min(timing.seconds, max(LEAST_S, min(MOST_S, timing.seconds * SHARE)))
    for group in study.groups:
        own = group.records is not None or group.timing is not None or not group.short
        loss_s = None if own else group.force_loss_at_s
        if loss_s is not None and loss_s >= timing.warmup_at() + seconds:
            seconds = timing.seconds
    interval_ms = max(10, min(timing.interval_ms, int(seconds * 1000 / SAMPLES)))
    return timing.model_copy(
        update={
            "rounds": min(study.max_rounds, SHORT_ROUNDS),
            "seconds": seconds,
            "interval_ms": interval_ms,
        }
    )


def short_form(study: Study, where: str) -> Study:
    """The study with its short timing and the groups that are for it; its name ends in ``-quick``.

    It has fixed rounds: a precision asked of the whole study does not apply.
    """
    if study.quick is None and study.name.endswith(QUICK):
        raise BadInput(
            "this is the short form of a study already; leave out --quick",
            where=where,
            key="name",
            value=study.name,
            code="E-STUDY-004",
        )
    if len(study.name) > MAX_NAME - len(QUICK):
        raise BadInput(
            f"the short form adds {QUICK!r}, and a name has {MAX_NAME} characters at most; "
            f"shorten it to {MAX_NAME - len(QUICK)}",
            where=where,
            key="name",
            value=study.name,
            code="E-STUDY-005",
        )
    groups = tuple(_shortened(study, group) for group in study.groups if group.short)
    if not groups:
        raise BadInput(
            "no group is for the short form; leave out `short: false` of one, or --quick",
            where=where,
            key="groups",
            code="E-STUDY-006",
        )
    timing = study.quick or derived_timing(study)
    return study.model_copy(
        update={
            "name": f"{study.name}{QUICK}",
            "groups": groups,
            "timing": timing,
            "precision": None,
            "quick": None,
        }
    )


def _shortened(study: Study, group: Group) -> Group:
    """A group in the short form: its own short timing, or one derived from its own timing."""
    timing = group.quick
    if timing is None and group.timing is not None:
        alone = group.model_copy(update={"timing": None})
        whole = study.model_copy(
            update={"timing": group.timing.over(study.timing), "groups": (alone,)}
        )
        derived = derived_timing(whole)
        timing = group.timing.model_copy(
            update={"seconds": derived.seconds, "interval_ms": derived.interval_ms}
        )
    return group.in_short().model_copy(update={"timing": timing, "quick": None})
