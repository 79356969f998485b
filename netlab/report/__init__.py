"""Reports: tables of a measured study, and the site of executed notebooks."""

from netlab.report.site import ExecutedNotebook, build_site

__all__ = ["ExecutedNotebook", "build_site"]
