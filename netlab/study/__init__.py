"""A study as a YAML file: hosts, paths, factors and what is to be reported.

Frozen models; every mistake in a file is a :class:`~netlab.errors.BadInput` that names the
file, the key and the value.
"""

from netlab.study.base import QUICK, Noise, is_name, slug
from netlab.study.design import Study
from netlab.study.factors import Latency, Policy, Socket, Udp
from netlab.study.file import load, load_stored
from netlab.study.groups import OWN, UDP, Group, Timing
from netlab.study.hosts import Emulator, LabLink, StudyHost
from netlab.study.tunings import Stack, TuningLevel

__all__ = [
    "OWN",
    "QUICK",
    "UDP",
    "Emulator",
    "Group",
    "LabLink",
    "Latency",
    "Noise",
    "Policy",
    "Socket",
    "Stack",
    "Study",
    "StudyHost",
    "Timing",
    "TuningLevel",
    "Udp",
    "is_name",
    "load",
    "load_stored",
    "slug",
]
