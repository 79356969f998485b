"""Deliberate faults in the C sources of tune, and whether the tests of tuning notice each.

    python tests/native/tuning/mutants.py [NAME...]

Each mutant is a copy of native/ with one change. The tests run against it, quick ones first, until
one fails. A mutant that survives all of them is a gap of the tests. Needs root and a C compiler; a
mutant takes from 20 s to some minutes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NATIVE = "NETLAB_TESTED_NATIVE"
"""Environment variable: the sources that tests/native/tuning/conftest.py compiles."""
STAGES = (
    ("tests/native/tuning/test_faults.py", "tests/native/tuning/test_tune_process.py"),
    ("tests/native/tuning/test_guard.py", "tests/native/tuning/test_journal.py"),
    ("tests/native/tuning/test_module_knob.py", "tests/native/tuning/test_qdisc_knob.py"),
    ("tests/native/tuning/test_faults_machine.py", "tests/native/tuning/test_session.py"),
)
TIMEOUT_S = 420.0


@dataclass(frozen=True)
class Mutant:
    """One change: a text that occurs once in a file under native/src/tune, and its replacement."""

    file: str
    text: str
    replacement: str

    def source(self, native: Path = ROOT / "native") -> Path:
        """The file to change."""
        return native / "src" / "tune" / self.file


MUTANTS = {
    "a write is not journalled": Mutant(
        "tune_session.c",
        "\tif (nl_journal_save(&s->journal) == 0)\n\t\treturn e;",
        "\treturn e;",
    ),
    "a journal that is not written takes the place of the old one": Mutant(
        "../base/file_read.c", "\tif (!err && renameat(", "\tif (renameat("
    ),
    "a failed read is taken for a conflict": Mutant(
        "tune_revert.c",
        "return reverted_code(code);\n\t\tif (successor)",
        "return NL_CONFLICT;\n\t\tif (successor)",
    ),
    "an absent interface is forgotten": Mutant(
        "tune_revert.c",
        "k->interface, e->ifindex);\n\treturn NL_ABSENT;",
        "k->interface, e->ifindex);\n\treturn NL_CONFLICT;",
    ),
    "the value of another process is overwritten": Mutant(
        "tune_revert.c", "\tif (!nl_entry_is_ours(", "\tif (0 && !nl_entry_is_ours("
    ),
    "a restored value is not read back": Mutant(
        "tune_revert.c",
        "if (code == NL_KNOB_OK && strcmp(after.exact, e->old) == 0) {",
        "if (code == NL_KNOB_OK || after.exact[0] || 1) {",
    ),
    "reserved files are not released": Mutant(
        "tune_revert.c", "\tnl_revert_release();\n\twhy->", "\twhy->"
    ),
    "knobs are reverted in the order of their changes": Mutant(
        "tune_revert.c",
        "for (size_t i = j->count; i-- > first;) {",
        "for (size_t i = first; i < j->count; i++) {",
    ),
    "a failed readback leaves the knob": Mutant(
        "tune_session.c", "\t\tundo(s, e); /* a value", "\t\t/* a value"
    ),
    "our own value is taken for the original": Mutant(
        "tune_session.c", "} else if (!nl_entry_is_ours(e, now, 1)) {", "} else {"
    ),
    "a change is made that cannot be written back": Mutant(
        "tune_session.c",
        "!e->written && probe_restore(s, e, &out->why) < 0",
        "!e->written && !out && probe_restore(s, e, &out->why) < 0",
    ),
    "knobs of a stale journal are set": Mutant(
        "tune_session.c",
        "if (left && left < s->journal.entry + s->left) {",
        "if (0) {",
    ),
    "an entry goes although its knob failed": Mutant(
        "tune_revert.c", "if (nl_reverted_done(status)) {", "if (status || !status) {"
    ),
    "net.core.default_qdisc is reverted in its turn": Mutant(
        "tune_revert.c",
        "if (decides_for_others(&e.knob) != decisive)",
        "if (!decisive && decides_for_others(&e.knob) >= 0)",
    ),
    "a modprobe does not inherit the lock of the guard": Mutant(
        "guard.c", 'memfd_create("netlab-guard", 0)', 'memfd_create("netlab-guard", MFD_CLOEXEC)'
    ),
    "a modprobe does not inherit the lock of the session": Mutant(
        "tune_session.c", "\tfcntl(s->lock.fd, F_SETFD, 0);", "\tfcntl(s->lock.fd, F_GETFD);"
    ),
    "the guard reverts nothing": Mutant(
        "guard.c", "\t\tchild_revert(c);", "\t\t(void)child_revert;"
    ),
    "the guard tries once": Mutant("guard.c", "ATTEMPTS = 5,", "ATTEMPTS = 1,"),
    "the guard has no hold time": Mutant(
        "guard.c",
        "int timed_out = is_due(c);",
        "int timed_out = 0 * is_due(c);",
    ),
    "an interface is found by its name only": Mutant(
        "journal.c", "if (!e->ifindex || !ifindex)", "if (!e->ifindex || !ifindex || 1)"
    ),
    "a line that cannot be parsed is passed over": Mutant(
        "journal.c",
        "parse_line(j, text + at, size) < 0) {",
        "(parse_line(j, text + at, size) < 0 && 0)) {",
    ),
}


def killer(name: str) -> str | None:
    """The test that notices a mutant, and after what time; None if it survives.

    A failure counts if the test fails again alone, since a loaded machine exceeds timeouts.
    """
    mutant, began = MUTANTS[name], time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        native = Path(shutil.copytree(ROOT / "native", Path(directory) / "native"))
        source = mutant.source(native)
        source.write_text(source.read_text().replace(mutant.text, mutant.replacement))
        skipped: list[str] = []
        for stage in STAGES:
            while (test := first_failure(native, *stage, *skipped)) is not None:
                if first_failure(native, test) is not None:
                    return f"{test}, {time.monotonic() - began:.0f} s"
                skipped.append(f"--deselect={test}")
    return None


def first_failure(native: Path, *words: str) -> str | None:
    """The first test that fails against these sources; None if all pass."""
    options = ("-n0", "-q", "-x", "--no-header", f"--timeout={TIMEOUT_S:g}")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *options, *words),
        cwd=ROOT,
        env={**os.environ, NATIVE: str(native)},
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    return found[1]


def main(names: list[str]) -> int:
    """Try mutants; 1 if one survives."""
    survived = 0
    for name in names or MUTANTS:
        found = killer(name)
        survived += found is None
        print(f"{name}: {found or 'SURVIVES'}", flush=True)
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
