"""Facts of imported runs mean the same in Python, in a command, and in each time zone."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pandas as pd
import pytest
from refusals import refused

import netlab
from netlab.errors import BadInput
from netlab.imports.facts import moment_of

NOON = dt.datetime(2003, 3, 3, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "value",
    [
        *("2003-03-03 12:00", "2003-03-03T12:00:00Z", "2003-03-03T13:00+01:00"),
        *(dt.datetime(2003, 3, 3, 12), NOON, pd.Timestamp(NOON), pd.Timestamp("2003-03-03 12:00")),
    ],
)
def test_a_time_without_a_zone_is_of_utc(value):
    assert moment_of(value) == NOON


def test_no_time_depends_on_the_zone_of_the_machine():
    code = (
        "import datetime as dt\nfrom netlab.imports.into_store import Facts\n"
        "for value in ('2003-03-03 12:00', dt.datetime(2003, 3, 3, 12)):\n"
        "    print(Facts('old', 'a', 'b', started_at=value).started_at.timestamp())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"TZ": "Pacific/Apia", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(NOON.timestamp())] * 2, done.stderr


@pytest.mark.parametrize(
    ("fact", "value", "code"),
    [
        *(("started_at", value, "E-IMPORT-190") for value in ("yesterday", 5, "", "2003-13-01")),
        *(("started_at", value, "E-IMPORT-191") for value in ("9999-01-01", "1970-01-01")),
        *(("mtu_B", value, "E-IMPORT-192") for value in ("1500", 0, 1500.0, True)),
        *(("streams", value, "E-IMPORT-192") for value in (0, -1, 10**6)),
        ("measured_at", "left", "E-IMPORT-193"),
        *(("link_Mbps", value, "E-IMPORT-194") for value in (0, -1, "1000", float("nan"))),
    ],
)
def test_python_refuses_what_the_command_refuses(tmp_path, fact, value, code):
    (tmp_path / "a.txt").write_text("a report")
    words = {"study": "old", "sender": "a", "receiver": "b", "results": tmp_path / "results"}
    with refused(BadInput, code):
        netlab.import_files(tmp_path / "a.txt", **words, **{fact: value})
    assert not (tmp_path / "results").exists()
