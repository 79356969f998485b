"""Tuning as a transaction: read, plan, apply, verify, revert."""

from netlab.tuning.knobs import Choice, HostSetting, Knob, KnobOption
from netlab.tuning.plan import Change, make_plan, plan_html, plan_text
from netlab.tuning.profiles import (
    AS_FOUND,
    Profile,
    Tuning,
    data_directory,
    load_profile,
    profile_names,
)
from netlab.tuning.session import Drift, TuneChannel, TuningResult, TuningSession

__all__ = [
    "AS_FOUND",
    "Change",
    "Choice",
    "Drift",
    "HostSetting",
    "Knob",
    "KnobOption",
    "Profile",
    "TuneChannel",
    "Tuning",
    "TuningResult",
    "TuningSession",
    "data_directory",
    "load_profile",
    "make_plan",
    "plan_html",
    "plan_text",
    "profile_names",
]
