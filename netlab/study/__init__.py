"""A study as a YAML file: hosts, paths, factors and what is to be reported.

Frozen models; every mistake in a file is a :class:`~netlab.errors.BadInput` that names the
file, the key and the value.
"""

from netlab.study.base import INTERFACE, MAX_NAME, MAX_RUNS, QUICK, Name, Noise, is_name, slug
from netlab.study.design import Study
from netlab.study.factors import Factors, Policy, Socket
from netlab.study.file import load, load_stored
from netlab.study.groups import OWN, Group, GroupTiming, Timing
from netlab.study.hosts import Bus, Emulator, End, LabLink, Path, StudyHost
from netlab.study.stacks import Stack
from netlab.study.tunings import OwnTuning, TuningLevel

__all__ = [
    "INTERFACE",
    "MAX_NAME",
    "MAX_RUNS",
    "OWN",
    "QUICK",
    "Bus",
    "Emulator",
    "End",
    "Factors",
    "Group",
    "GroupTiming",
    "LabLink",
    "Name",
    "Noise",
    "OwnTuning",
    "Path",
    "Policy",
    "Socket",
    "Stack",
    "Study",
    "StudyHost",
    "Timing",
    "TuningLevel",
    "is_name",
    "load",
    "load_stored",
    "slug",
]
