"""Older files of flent, and streams with few digits."""

from __future__ import annotations

import pytest
from imports.read_formats import one, refused_for
from imports.samples import flent


@pytest.mark.parametrize("version", [2, 3])
def test_older_files_of_flent_have_neither_zone_nor_counts(version):
    record = one(flent(version, mean=0.2))
    assert record.started_unix_s == 1795766400
    assert [sample.t_s for sample in record.forward.samples] == [0, 0.5, 1, 1.5]
    assert (record.forward.window_s, record.forward.goodput_MBps) == (2, 0.025)
    assert record.forward.measured_at == "sender"
    assert record.ping_ms == {"Ping (ms) ICMP": (20, 24), "Ping (ms) UDP BE1": (20,)}
    refused_for(flent(version, mean=0.2, t0="yesterday"), "not a time")


def test_a_slow_stream_of_flent_agrees_within_the_digits_of_its_mean():
    counts = {"RUNNER": "NetperfDemoRunner", "ELAPSED_TIME": 2.0}
    zone = {"t0": "2026-11-27T08:00:00Z"}
    slow = flent(4, mean=0.2, BYTES_SENT=51000, BYTES_RECVD=50900, **counts, **zone)
    record = one(slow)
    assert record.forward.goodput_MBps == pytest.approx(50900 / 2 / 1e6)
    assert record.forward.measured_at == "receiver"
    assert record.ping_ms["Ping (ms) UDP BE1"] == (50,)
    refused_for(slow.replace("509", "809").replace("51000", "81000"), "do not agree")
    refused_for(flent(5, mean=0.2), "format 5")
    refused_for(flent(2, mean=0.2).replace("TCP upload", "HTTP upload"), "no TCP stream")
