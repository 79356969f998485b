"""Hosts without an IPv4 address, on the data path and to log in: every command does its work."""

from __future__ import annotations

from faults.site import ADDRESSES_6, standing, until

from netlab.results.store import Store


def test_hosts_without_ipv4_are_found_tuned_measured_and_reported(tmp_path):
    with standing(tmp_path, ADDRESSES_6) as site:
        for name in ADDRESSES_6:
            site.ip(name, "addr del 127.0.0.1/8 dev lo")

        def done(*words: str) -> str:
            process = site.start(*words)
            out, complaint = process.communicate(timeout=120)
            assert process.returncode == 0, out + complaint
            return out

        before = site.dump()
        names = (f"root@{management}" for management, _, _ in ADDRESSES_6.values())
        key = str(site.state / "key")
        found = done("init", *names, "--identity-file", key, "-o", "found.yml")
        assert "a study of left data0 (2001:2::1) and right data0 (2001:2::2)" in found
        assert "packets of 1500 B pass both ways" in done("check", "found.yml")
        broken = site.measure()
        until(site.sending, 60)  # true for ever after a run that has sent
        site.kill("b", "tune", "guard")
        assert site.finished(broken)[0] == 1
        assert "b: mtu restored" in done("tune", "recover", str(site.study))
        assert site.dump() == before
        site.completed(seconds=0.5)
        assert site.dump() == before
        runs = Store(site.results).runs()
        (row,) = runs[runs["flags"] != "failed"].itertuples()
        assert (row.ledger_error_B, row.mss_B) == (0, 9000 - 72)
        done("report", str(site.study), "--results", str(site.results), "--site", "pages")
