"""A checkout without a wing: its folder, its tests and its line in pyproject.toml.

A wing that another one builds on takes that one with it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import apart
from run import NOT_QUICK, QUICK_TESTS

from netlab.wings import wings

ROOT = Path(__file__).resolve().parents[1]
SITE = Path(sysconfig.get_paths()["purelib"])
OWN = sorted(name for name, wing in wings().items() if (ROOT / "netlab" / name).is_dir())
SLOW = ("slow", "*/slow")
KINDS = ("commands", "names", "results", "methods")

REST = """
import importlib, json, pkgutil, netlab
from netlab import wings
from netlab.cli.main import main
for found in pkgutil.walk_packages(netlab.__path__, "netlab."):
    if not found.name.startswith(("netlab._", "netlab.__main__")):
        importlib.import_module(found.name)
offered = {
    "commands": main.list_commands(None),
    "names": dir(netlab),
    "results": dir(netlab.Results("openlab-2003")),
    "methods": dir(netlab.Study("openlab-2003")),
}
print(json.dumps([netlab.__file__, offered]))
"""


def removed_with(wing: str) -> set[str]:
    """A wing, and all wings that import it."""
    gone = {wing}
    while True:
        sources = ((name, path) for name in OWN for path in (ROOT / "netlab" / name).rglob("*.py"))
        found = {
            name
            for name, path in sources
            if any(f"from netlab.{one}" in path.read_text("utf-8") for one in gone)
        }
        if found <= gone:
            return gone
        gone |= found


def without(gone: set[str], copy: Path) -> dict[str, str]:
    """Make a checkout without some wings, and the environment in which Python finds it alone."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "netlab", "tests", ":(glob)*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    parts = tuple(f"{top}/{wing}/" for top in ("netlab", "tests") for wing in gone)
    for name in filter(None, listed.stdout.split("\0")):
        if not name.startswith(parts) and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    for words in (("init", "-q"), ("add", "-A")):  # tests of the architecture ask git for files
        subprocess.run(["git", "-C", copy, *words], check=True)
    for folder in ("data", "docs", "notebooks", "native", ".ci"):
        (copy / folder).symlink_to(ROOT / folder)
    for built in ("_core.abi3.so", "_bin", "_src"):
        (copy / "netlab" / built).symlink_to(SITE / "netlab" / built)
    project = (copy / "pyproject.toml").read_text("utf-8")
    for wing in gone:
        line = f'{wing} = "netlab.{wing}:wing"\n'
        assert project.count(line) == 1
        project = project.replace(line, "")
    (copy / "pyproject.toml").write_text(project, "utf-8")
    points = tomllib.loads(project)["project"]["entry-points"]["netlab.wings"]
    about = copy / f"netlab-{importlib.metadata.version('netlab')}.dist-info"
    about.mkdir()
    (about / "METADATA").write_bytes(next(SITE.glob("netlab-*.dist-info/METADATA")).read_bytes())
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[netlab.wings]", *lines, ""]))
    # tests that run in there are not those of this process, whose namespaces they would wait for
    own = {name: value for name, value in os.environ.items() if name != apart.WANTED}
    return {**own, "PYTHONPATH": f"{copy}:{SITE}", "NETLAB_HOME": str(copy)}


def python(*words: str, copy: Path, env: dict[str, str]) -> str:
    """Run Python without the finder of an editable installation, which is of this checkout."""
    argv = [sys.executable, "-S", *words]
    done = subprocess.run(argv, cwd=copy, env=env, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def check_rest(wing: str, copy: Path, run: tuple[str, ...]) -> None:
    """The rest offers all but the wing; quick and slow tests are collected, some quick ones run."""
    gone = removed_with(wing)
    env = without(gone, copy)
    place, offered = json.loads(python("-c", REST, copy=copy, env=env).splitlines()[-1])
    assert place == str(copy / "netlab" / "__init__.py")
    for kind in KINDS:
        for name, one in wings().items():
            there = set(offered[kind]) & set(getattr(one, kind))
            assert there == (set() if name in gone else set(getattr(one, kind))), (kind, name)
    pytest_of_rest = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    others = (f"--ignore-glob=tests/{name}" for name in NOT_QUICK if name not in SLOW)
    python(*pytest_of_rest, "--collect-only", "tests", *others, copy=copy, env=env)
    left = [name for name in run if (copy / name).exists()]
    python(*pytest_of_rest, *left, *QUICK_TESTS[1:], copy=copy, env=env)
