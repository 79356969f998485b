"""Two data cards of each host in one subnet, of which the kernel sends by one."""

from __future__ import annotations

from e2e.visitor import Visitor

from netlab.study import load


def test_the_card_that_sends_is_found_and_another_one_is_named(tmp_path):
    with Visitor(tmp_path) as site:
        site.move_key(site.ssh / "id_ed25519")
        for name, address in (("a", "198.18.0.11"), ("b", "198.18.0.12")):
            middle = site.namespaces["mid"]
            site.ip(name, f"link add data1 type veth peer name {name}-1 netns {middle}")
            site.ip("mid", f"link set {name}-1 mtu 16000 master bridge up")
            site.ip(name, "link set data1 addrgenmode none up")
            site.ip(name, f"addr add {address}/24 dev data1")
            site.ip(name, "route del 198.18.0.0/24 dev data0")
            site.ip(name, "route add 198.18.0.0/24 dev data0 metric 500")

        def done(*words: str) -> tuple[int, str]:
            process = site.start(*words)
            out, complaint = process.communicate(timeout=240)
            return process.returncode, out + complaint

        code, said = done("init", "root@192.0.2.2", "root@192.0.2.6", "-o", "mine.yml")
        assert code == 0, said
        ends = load(site.state / "mine.yml").path("data").ends
        assert [(end.address, end.interface) for end in ends] == [
            ("198.18.0.11", "data1"),
            ("198.18.0.12", "data1"),
        ]
        code, said = done("check", "mine.yml")
        assert code == 0, said

        code, said = done("check", str(site.study))  # data0
        assert code == 1 and "leave by data1, not by data0: take an address of data1" in said, said
        study = site.state / "mine.yml"
        study.write_text(study.read_text().replace("198.18.0.12,", "198.18.0.2,"))
        code, said = done("check", "mine.yml")
        assert code == 0 and "198.18.0.2 is an address of data0, not of data1" in said, said
