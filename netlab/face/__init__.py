"""The names that a notebook uses: studies, results, fleets, published figures, a first transfer."""

from netlab.face.comparison import compare
from netlab.face.fleet import Fleet
from netlab.face.loopback import LoopbackRun, transfer
from netlab.face.parameters import check_parameters
from netlab.face.published import claims, document, load_published
from netlab.face.results import Results
from netlab.face.shown import show
from netlab.face.study import Study

__all__ = [
    "Fleet",
    "LoopbackRun",
    "Results",
    "Study",
    "check_parameters",
    "claims",
    "compare",
    "document",
    "load_published",
    "show",
    "transfer",
]
