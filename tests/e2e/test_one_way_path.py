"""A firewall that lets connections pass one way alone: `init` writes the study that runs."""

from __future__ import annotations

import subprocess

from e2e.visitor import Visitor

from netlab.study import load

FILTER = """\
table inet one_way {
 chain input {
  type filter hook input priority 0
  iifname "data0" tcp flags & (syn|ack) == syn drop
 }
}
"""


def test_a_path_that_connections_pass_one_way_is_studied_that_way(tmp_path):
    with Visitor(tmp_path) as site:
        site.move_key(site.ssh / "id_ed25519")
        subprocess.run(site.inside("b", "nft", "-f", "-"), input=FILTER, text=True, check=True)

        def done(*words: str) -> tuple[int, str]:
            process = site.start(*words)
            out, complaint = process.communicate(timeout=240)
            return process.returncode, out + complaint

        hosts = ("root@192.0.2.2", "root@192.0.2.6")
        code, said = done("init", *hosts, "-o", "mine.yml")
        assert code == 0, said
        assert "no TCP connection from left arrives at 198.18.0.2 (" in said, said
        groups = load(site.state / "mine.yml").groups
        assert [group.sender for group in groups] == ["right"]
        assert "# - {name: left -> right" in (site.state / "mine.yml").read_text()

        code, said = done("check", "mine.yml")
        assert code == 0 and "pass from right to left, not fragmented; no group" in said, said
        options = ("--rounds", "1", "--seconds", "0.3", "--results", "mine")
        code, said = done("run", "mine.yml", *options)
        assert code in (0, 4) and " 0 failed" in said, said  # 4: other work on this machine

        code, said = done("measure", *hosts)
        assert code == 1 and "[E-SURVEY-015]" in said and "exchange the hosts" in said, said

        # once a group sends the other way, that way must pass
        study = site.state / "mine.yml"
        study.write_text(study.read_text().replace("  # - {name: left", "  - {name: left"))
        code, said = done("check", "mine.yml")
        assert code == 1 and "did not answer within" in said, said
