"""A study as a YAML file: hosts, paths, factors and what is to be reported.

Frozen models; every mistake in a file is a :class:`~netlab.errors.BadInput` that names the
file, the key and the value.
"""

from netlab.study.base import QUICK, is_name, slug
from netlab.study.design import Study
from netlab.study.file import load, load_stored
from netlab.study.groups import UDP, Group, Timing
from netlab.study.hosts import StudyHost
from netlab.study.links import Emulator, LabLink
from netlab.study.noise import Noise
from netlab.study.run_options import Latency, Policy, Socket, Udp
from netlab.study.stacks import Stack
from netlab.study.tool_limits import OWN
from netlab.study.tunings import TuningLevel

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
