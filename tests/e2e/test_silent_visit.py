"""A visit whose kernel stops is ended, and a new kernel measures what is missing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from e2e.conftest import small_study

from netlab.experiment import campaign
from netlab.experiment.watcher import Watcher
from netlab.notebooks import kernel as kernels
from netlab.results.store import Store
from netlab.study import load


class Stopping(Watcher):
    """Stops the kernel after the first run, as a process that waits for ever."""

    def __init__(self):
        self.notes: list[str] = []
        self.done: list[str] = []

    def run_done(self, run):
        if not self.done:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            for pid in children:
                if b"ipykernel_launcher" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGSTOP)
        self.done.append(run.run_id)

    def note(self, text):
        self.notes.append(text)


def test_a_visit_that_falls_silent_is_measured_again_in_a_new_kernel(
    tmp_path, machine_untouched, monkeypatch
):
    monkeypatch.setattr(campaign, "SILENCE_S", 10.0)
    monkeypatch.setattr(kernels, "INTERRUPT_S", 1.0)
    watcher, content = Stopping(), small_study("silent")
    content |= {key: content[key][:1] for key in ("groups", "tunings")}
    campaign.run_study(load(content), directory=tmp_path / "results", watcher=watcher)
    assert sum("so its kernel was ended" in note for note in watcher.notes) == 1
    runs = Store(tmp_path / "results").runs()
    assert len(runs) == 2 and runs["run_id"].is_unique
    assert len(list((tmp_path / "results" / "notebooks").glob("*.silent.txt"))) == 1
