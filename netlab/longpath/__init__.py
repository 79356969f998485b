"""SLAC's study of 2003: TCP stacks over a long path, their recovery and their fairness."""

from netlab.wings import Wing

wing = Wing(
    reports={"slac-2003": "netlab.longpath.report:REPORT"},
    results={"long_path": "netlab.longpath.view:LongPathResults"},
)
