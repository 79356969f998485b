"""Runs of a study made by other tools: the same hosts, tuning, meters and columns."""

from netlab.generators.installed import missing, require, tool_named, version_text, versions
from netlab.generators.run import Made, make_run

__all__ = ["Made", "make_run", "missing", "require", "tool_named", "version_text", "versions"]
