"""Words of the guide, which figures and tables use in place of others."""

from __future__ import annotations

import re

from netlab.charts.chart import Chart

FORBIDDEN = re.compile(r"->|\d{3,}B\b|\+ (Kernel|Driver) Tuning|[Tt]hroughput")


def other_words(chart: Chart) -> list[str]:
    """Texts of a chart, its description and caption that have other words."""
    words = re.sub(r"<metadata.*?</metadata>|<style.*?</style>", "", chart.svg, flags=re.DOTALL)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", words)
    every = [text.replace("&gt;", ">") for text in (chart.alt, chart.caption, *texts)]
    return [text for text in every if FORBIDDEN.search(text)]
