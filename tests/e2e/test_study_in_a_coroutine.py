"""Ctrl-C ends a study that a coroutine measures, as it ends any other."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from e2e.conftest import small_study

from netlab.experiment import campaign
from netlab.experiment.watcher import Watcher
from netlab.results.store import Store
from netlab.study import load
from netlab.study.schedule import visits


class Interrupting(Watcher):
    """Interrupts this process after the first run, once."""

    done = 0

    def run_done(self, run):
        self.done += 1
        if self.done == 1:
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_stops_a_study_within_a_coroutine(tmp_path, machine_untouched):
    study, returned = load(small_study("coroutine")), []

    async def measure():
        campaign.run_study(study, directory=tmp_path / "results", watcher=Interrupting())
        returned.append(study)

    with pytest.raises(campaign.Stopped, match="lab removed"):
        asyncio.run(measure())
    assert not returned
    planned = sum(len(visit.runs) for visit in visits(study))
    # a visit that is stopped may have stored its first run or not
    assert len(Store(tmp_path / "results").runs()) < planned
