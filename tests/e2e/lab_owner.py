"""A process that owns a lab: ``lab_owner.py LAB_ID [persist] [emulated]`` says up, then waits."""

import sys
import time

from lab_study import bus, lab_study

from netlab.lab.lab import Lab


def main(lab_id: str, *words: str) -> None:
    link = {"emulator": {"with": "netlab", "rtt_ms": 10.0}} if "emulated" in words else {}
    study = lab_study(
        {"a": bus(2128.0), "b": bus(1600.0)},
        {"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": link}},
    )
    print("start", flush=True)
    with Lab.up(study, lab_id=lab_id, owned="persist" not in words):
        print("up", flush=True)
        time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
