"""Progress is one output of a notebook, a bar of a terminal, or plain lines."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from IPython.core.interactiveshell import InteractiveShell
from measure.scripted import Clock
from rich.console import Console
from traitlets.config import Config

from netlab.errors import BadInput
from netlab.experiment import progress
from netlab.experiment.campaign import Stopped
from netlab.experiment.display import LinesDisplay
from netlab.experiment.notebook_display import NotebookDisplay, as_html
from netlab.experiment.tally import DONE, Tally
from netlab.experiment.terminal_display import TerminalDisplay
from netlab.experiment.watcher import RunDone


@pytest.fixture
def tally():
    runs = [RunDone("a", 700.0, 90.0), RunDone("b", 20.0, None, "stalled"), RunDone("<c>", None)]
    return Tally(
        runs=9, done=3, place="round 1, <path>", work_s=10.0, done_s=4.0, left_s=6.0, measured=runs
    )


def chart_in(text):
    return ET.fromstring(re.search(r"<svg.*</svg>", text, re.DOTALL)[0])


def test_the_html_has_a_bar_sentences_notes_and_a_chart(tally):
    text = as_html(tally, ["one", "two", "three", "<four>"])
    assert '<progress max="100" value="40"' in text
    assert "round 1, &lt;path&gt;, 3 of 9 runs, 40 %, 6 s left" in text
    assert "<div>one<" not in text and "&lt;four&gt;" in text
    svg = chart_in(text)
    assert len(svg.findall("circle")) == 1 and len(svg.findall("path")) == 1
    assert len(svg.findall("rect")) == 1
    assert "20 to 700 MB/s" in svg.attrib["aria-label"]


@pytest.fixture
def outputs(monkeypatch):
    """The outputs of a notebook by their display ids, and the number of messages."""
    shown, messages = {}, []

    def put(content, *, raw, display_id):
        assert raw
        messages.append(display_id)
        shown[display_id] = content

    def update(content, *, raw, display_id):
        assert display_id in shown, "only an output that exists can be replaced"
        put(content, raw=raw, display_id=display_id)

    monkeypatch.setattr("netlab.experiment.notebook_display.display", put)
    monkeypatch.setattr("netlab.experiment.notebook_display.update_display", update)
    return shown, messages


def test_a_notebook_has_one_output_with_the_last_state(tally, outputs):
    shown, messages = outputs
    clock = Clock()
    live = NotebookDisplay(clock)
    for at in range(100):
        clock.now_s = 0.1 * at
        live.show(tally)
    live.note("waiting")
    tally.stage = DONE
    live.close(tally)
    (content,) = shown.values()
    assert 15 <= len(messages) <= 25, "twice a second"
    assert 'value="100"' in content["text/html"] and "waiting" in content["text/html"]
    assert content["text/plain"].startswith("Done: round 1") and chart_in(content["text/html"])


def test_a_terminal_has_a_bar_and_notes_above_it(tally):
    out = io.StringIO()
    live = TerminalDisplay(Console(file=out, force_terminal=True, width=100))
    live.show(tally)
    live.note("[not markup]")
    tally.stage = DONE
    live.close(tally)
    text = out.getvalue()
    assert "netlab: [not markup]" in text and "100 %" in text and "━" in text


def test_lines_come_at_most_every_ten_seconds_and_at_the_end(tally, capsys):
    clock = Clock()
    lines = LinesDisplay(clock)
    for at in range(25):
        clock.now_s = float(at)
        lines.show(tally)
    tally.stage = DONE
    lines.close(tally)
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 4 and all(line.startswith("netlab: ") for line in err)
    assert "100 %" in err[-1] and not any("100 %" in line for line in err[:-1])


def test_without_a_notebook_or_terminal_there_are_lines():
    assert isinstance(progress.choose(), LinesDisplay)


def shown_by(code, **names):
    """Standard output of a cell that fails, in a shell of IPython."""
    # at exit the home directory with a history's database would be gone
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns.update(names)
    out = io.StringIO()
    shell._showtraceback = lambda kind, value, lines: out.write("\n".join(lines))
    shell.run_cell(code)
    return out.getvalue()


def test_a_stop_shows_one_sentence_and_passes_on_the_signal():
    stopped = Stopped("Stopped: 179 of 280 runs measured, lab removed.", KeyboardInterrupt(15))
    assert stopped.args == (15,) and isinstance(stopped, KeyboardInterrupt)
    assert str(stopped) == stopped.text
    assert shown_by("raise error", error=stopped) == stopped.text


def test_bad_input_shows_one_line_in_a_notebook():
    error = BadInput("unknown key", where="study.yml:3", key="strems", code="E-STUDY-001")
    assert shown_by("raise error", error=error) == (
        "netlab: study.yml:3: strems: unknown key [E-STUDY-001]"
    )


def test_a_display_is_chosen_without_importing_ipython():
    """A worker that executes a notebook may be importing it: two imports at once deadlock."""
    code = (
        "import sys; from netlab.experiment.progress import choose; choose(); "
        "sys.exit(any(name.split('.')[0] == 'IPython' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
