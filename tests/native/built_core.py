"""Builds of the core for its tests and fuzzers."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


FUZZ_TARGETS = (
    *("cc_table", "request", "hello", "journal", "options", "probe", "procfs", "rtnl"),
    *("datagram", "emulate", "superpacket", "host_state", "host_record"),
)


# Sanitizers map their shadow where a kernel with many random bits may put a program.
FIXED_LAYOUT = ("setarch", platform.machine(), "-R")


def run(*argv: str | Path, timeout: float = 120) -> str:
    """Run a sanitized program: any finding is a failure."""
    done = subprocess.run((*FIXED_LAYOUT, *argv), capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{argv[0]}\n{done.stdout[-1000:]}\n{done.stderr[-4000:]}"
    return done.stdout


CLANG = shutil.which("clang") or "clang-14"


def fuzz(program: Path, target: str, seconds: int, place: Path) -> None:
    corpus = HERE / "corpus" / target
    options = (f"-max_total_time={seconds}", "-max_len=4200", f"-artifact_prefix={place}/")
    run(program, *options, place, corpus, timeout=seconds + 120)
