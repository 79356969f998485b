"""The short form of a study: a first look that takes a fraction of the time."""

from __future__ import annotations

from netlab.errors import BadInput
from netlab.study import flows
from netlab.study.base import MAX_NAME, QUICK
from netlab.study.design import Study
from netlab.study.factors import link_name
from netlab.study.groups import Group, Timing

SHORT_ROUNDS = 3
"""The fewest that give an interval."""
SHARE = 0.25
"""Of the study's measured seconds."""
LEAST_S, MOST_S = 0.5, 10.0
SAMPLES = 5
"""The fewest samples of a run."""


def derived_timing(study: Study) -> Timing:
    """Timing of the short form of a study that does not give one under ``quick``.

    At most three rounds of a quarter of the seconds, within 0.5 and 10 s and never more than the
    study's own. The warm-up stays: how long a path needs to settle does not depend on the form.
    The seconds stay too where a shorter run would be over before a loss that a group forces, or
    before its unequal flows have all been on.
    """
    timing = study.timing
    seconds = min(timing.seconds, max(LEAST_S, min(MOST_S, timing.seconds * SHARE)))
    for group in study.groups:
        own = group.records is not None or group.timing is not None or not group.short
        planned_s = (
            ()
            if own
            else (group.force_loss_at_s, flows.needed_s(group.flows, timing.interval_ms / 1e3))
        )
        ends_s = timing.warmup_at(_least_rtt_s(study, group)) + seconds
        if any(at_s is not None and at_s >= ends_s for at_s in planned_s):
            seconds = timing.seconds
    interval_ms = max(10, min(timing.interval_ms, int(seconds * 1000 / SAMPLES)))
    return timing.model_copy(
        update={
            "rounds": min(study.max_rounds, SHORT_ROUNDS),
            "seconds": seconds,
            "interval_ms": interval_ms,
        }
    )


def _least_rtt_s(study: Study, group: Group) -> float:
    """Least RTT of the links that a group measures, s: its shortest runs have that warm-up."""
    links = {link_name(group.path, one.of_link) for one in study.combinations(group)}
    return min((study.longest_rtt_s(group, link) for link in links), default=0.0)


def short_form(study: Study, where: str) -> Study:
    """The study with its short timing and the groups that are for it; its name ends in ``-quick``.

    It has fixed rounds: a precision asked of the whole study does not apply.
    """
    name, most = study.name, MAX_NAME - len(QUICK)
    if study.quick is None and name.endswith(QUICK):
        reason = "this is the short form of a study already; leave out --quick"
        raise BadInput(reason, where=where, key="name", value=name, code="E-STUDY-004")
    if len(name) > most:
        limit = f"and a name has {MAX_NAME} characters at most; shorten it to {most}"
        reason = f"the short form adds {QUICK!r}, {limit}"
        raise BadInput(reason, where=where, key="name", value=name, code="E-STUDY-005")
    groups = tuple(_shortened(study, group) for group in study.groups if group.short)
    if not groups:
        reason = "no group is for the short form; leave out `short: false` of one, or --quick"
        raise BadInput(reason, where=where, key="groups", code="E-STUDY-006")
    timing = study.quick or derived_timing(study)
    update = {"name": f"{name}{QUICK}", "groups": groups, "timing": timing}
    return study.model_copy(update={**update, "precision": None, "quick": None})


def _shortened(study: Study, group: Group) -> Group:
    """A group in the short form: its own short timing, or one derived from its own timing."""
    timing = group.quick
    if timing is None and group.timing is not None:
        alone = group.model_copy(update={"timing": None})
        whole = {"timing": group.timing.over(study.timing), "groups": (alone,)}
        derived = derived_timing(study.model_copy(update=whole))
        short = {"seconds": derived.seconds, "interval_ms": derived.interval_ms}
        timing = group.timing.model_copy(update=short)
    records = {"records": group.quick_records or group.records, "quick_records": None}
    return group.model_copy(update={**records, "timing": timing, "quick": None})
