"""The names that a notebook uses: studies, results, fleets, published figures, a first transfer."""

from netlab.face.fleet import Fleet
from netlab.face.loopback import LoopbackRun, transfer
from netlab.face.published import load_published
from netlab.face.results import Results
from netlab.face.study import Study

__all__ = ["Fleet", "LoopbackRun", "Results", "Study", "load_published", "transfer"]
