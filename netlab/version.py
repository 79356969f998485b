"""The version that results name: the release, and the commit that was built or runs.

The release alone decides whether earlier runs stay valid: a commit that changes no measurement must
not make a study begin anew.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

RELEASE = "0.1.0"
"""``netlab.__version__``, which no module of netlab imports from there: all are below it."""

PACKAGE = Path(__file__).resolve().parent
DESCRIBE = ("describe", "--always", "--dirty=.dirty", "--abbrev=12", "--exclude=*")
"""git's arguments; native/CMakeLists.txt and .ci/wheel describe a build with the same ones."""


@cache
def version(package: Path = PACKAGE) -> str:
    """Release and commit, ``0.1.0+g1a2b3c4d5e6f``; ``.dirty`` after it for uncommitted changes.

    The release alone where the commit is unknown: an unpacked archive, git absent or refusing.
    """
    commit = _of_checkout(package.parent)
    if not commit and (package / "_data" / "COMMIT").is_file():
        commit = (package / "_data" / "COMMIT").read_text(encoding="ascii").strip()
    return f"{RELEASE}+g{commit}" if commit else RELEASE


def _of_checkout(root: Path) -> str:
    """The commit of a checkout; empty elsewhere, also inside another project's repository."""
    if not (root / ".git").exists():
        return ""
    # a hook of git runs with variables that name another repository
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ("git", "-C", str(root), *DESCRIBE),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
