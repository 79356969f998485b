"""Runs by external tools (iperf3, iperf, nuttcp): same hosts, tuning, meters and columns."""

from netlab.generators.installed import missing, require, tool_named, version_text, versions
from netlab.generators.tools import Tool, TransferRequest
from netlab.generators.trial import TrialResult, run_trial

__all__ = [
    "Tool",
    "TransferRequest",
    "TrialResult",
    "missing",
    "require",
    "run_trial",
    "tool_named",
    "version_text",
    "versions",
]
