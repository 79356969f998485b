"""What a test may see of the user who runs it: nothing but the names below.

Tests start from the environment of a new login, with an empty home directory and empty results.
A user's own results, cache, keys, locale, time zone, shell and programs cannot change an outcome.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

KEPT = ("PYTEST_", "UV_", "NETLAB_TESTS_", "SSL_CERT_")
"""Prefixes of variables that tests are run with; workers of pytest inherit them."""
KEPT_NAMES = {
    *("TMPDIR", "USER", "LOGNAME", "http_proxy", "https_proxy", "no_proxy", "PYTHONPATH"),
    *("NETLAB_FAT_BPS", "NETLAB_SANITIZE", "NETLAB_SOAK_S"),
}
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _replace() -> tempfile.TemporaryDirectory:
    """Replace the environment and umask of this process; return its home directory."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(KEPT) or name in KEPT_NAMES
    }
    os.umask(0o022)
    home = tempfile.TemporaryDirectory(prefix="netlab-tests-home-")
    # uv's cache holds what the set-up has fetched
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uv"
    os.environ.clear()
    os.environ.update(
        {"UV_CACHE_DIR": str(cache)}
        | kept
        | {
            "HOME": home.name,
            "LANG": "C.UTF-8",
            "NETLAB_HOME": home.name,
            "PATH": f"{Path(sys.executable).parent}:{SYSTEM}",
            "SHELL": "/bin/sh",
            "TZ": "UTC",
        }
    )
    time.tzset()
    return home


HOME = _replace()
"""Done by importing this module, ahead of those that read the environment when imported."""
