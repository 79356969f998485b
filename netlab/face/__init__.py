"""The names that a notebook uses: a study, its results, published figures, a first transfer."""

from netlab.face.loopback import LoopbackRun, transfer
from netlab.face.published import load_published
from netlab.face.results import Results
from netlab.face.study import Study

__all__ = ["LoopbackRun", "Results", "Study", "load_published", "transfer"]
