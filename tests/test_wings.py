"""Wings: found by their entry points, and a whole one of another package, as the docs show it."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from pathlib import Path

import click
import guide
import pytest
from foreign_wings import install, shown_files

from netlab import wings
from netlab.cli.main import CORE, main


def netlab(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "netlab", *words]
    return subprocess.run(argv, capture_output=True, text=True, env=env, cwd=cwd)


def test_the_line_of_a_command_in_the_help_is_the_beginning_of_its_own_help():
    for name, listed in {**CORE, **wings.commands()}.items():
        whole = click.Command(name, help=main.commands[name].help)
        assert whole.get_short_help_str(10_000) == listed.summary, name


OFFERED = {
    "bundle": "bundle publish rerun verify",
    "fleet": "Fleet fleet",
    "imports": "import import_files",
    "longpath": "",
    "openlab": "claims document load_published",
    "qualify": "bench calibrate",
    "search": "autotune mlrsearch screen",
    "survey": "init measure",
}
"""Commands and attributes of `import netlab`."""


def test_each_wing_offers_the_commands_and_names_that_people_know():
    for name, wing in wings.wings().items():
        if name in OFFERED:
            assert sorted({*wing.commands, *wing.names}) == OFFERED[name].split()


def test_a_wing_of_another_package_reads_a_file_and_adds_a_page(tmp_path):
    folder, home = tmp_path / "packages", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    env = {**install(folder, shown_files("netlab-tcpkali")), "NETLAB_HOME": str(home)}
    (home / "tcpkali.txt").write_text(
        "Aggregate bandwidth: 9360.0↓, 0.1↑ Mbps\nTest duration: 4 s.\n"
    )
    words = ("--study-name", "mine", "--sender", "a", "--receiver", "b", "--mtu", "1500")
    words += ("--started-at", "mtime")
    done = netlab("import", "tcpkali.txt", *words, env=env, cwd=home)
    assert done.returncode == 0, done.stderr
    code = (
        "import netlab\n"
        "from netlab.analysis.measured import load_measured\n"
        "from netlab.report.pages import study_pages\n"
        f"m = load_measured({str(home / 'results' / 'mine')!r})\n"
        "print(m.runs['goodput_MBps'].tolist())\n"
        "print([(p.file, '1170.0' in p.body) for p in study_pages(m) if 'tcpkali' in p.file])\n"
    )
    argv = [sys.executable, "-c", code]
    shown = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=home)
    assert shown.stdout.splitlines() == ["[1170.0]", "[('tcpkali-runs.html', True)]"], shown.stderr


HELP_ONLY = (
    "import sys\nfrom netlab.cli import main\n"
    "try: main(['slowest', '--help'])\n"
    "except SystemExit: print(*{'netlab_slowest.listing', 'pydantic'} & set(sys.modules))\n"
)


def test_a_command_of_another_package_runs_and_its_help_imports_little(tmp_path):
    env = install(tmp_path, shown_files("netlab-slowest"))
    words = ("slowest", str(guide.DOCS.parent / "data/examples/agreement"), "--most", "3")
    done = netlab(*words, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["group", "tuning", "mtu_B", "streams", "goodput_MBps"]
    rates = [float(row.split()[-1]) for row in rows]
    assert len(rates) == 3 and rates == sorted(rates)
    done = netlab("slowest", "no-such-study", env=env, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    argv = [sys.executable, "-c", HELP_ONLY]
    done = subprocess.run(argv, capture_output=True, text=True, env=env)
    assert "--most" in done.stdout and done.stdout.endswith("\n\n"), done


OF_A_WING = min(wings.commands())
"""A command of a wing of netlab's own."""

TREX = """
[project]
name = "netlab-trex"
version = "1"
[project.entry-points."netlab.wings"]
trex = "netlab_trex:wing"
"""


def trex(module: str) -> dict[str, str]:
    """A package with one wing."""
    return {"pyproject.toml": TREX, "netlab_trex.py": f"from netlab.wings import *\n{module}\n"}


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("raise ImportError('no libtrex')", "E-WING-001"),
        ("raise OSError('libtrex.so: cannot open shared object file')", "E-WING-001"),
        ("wing = Wing(colours=())", "E-WING-001"),
        ("wings = Wing()", "E-WING-001"),
        ("wing = Wing(commands={'trex': 'netlab_trex:trex'})", "E-WING-001"),
        ("wing = Wing(pages='netlab_trex:pages')", "E-WING-001"),
        ("wing: = Wing()", "E-WING-001"),
        ("import sys; sys.exit('libtrex is absent')", "E-WING-001"),
        ("wing = 1", "E-WING-002"),
        (f"wing = Wing(commands={{'{OF_A_WING}': Command('a:b', 'Another.')}})", "E-WING-004"),
        ("wing = Wing(commands={'run': Command('a:b', 'Another.')})", "E-WING-005"),
        ("wing = Wing(generators={'iperf3': 'a:b'})", "E-WING-005"),
    ],
)
def test_a_wing_that_cannot_be_used_is_named_and_the_others_work_without_it(tmp_path, module, code):
    env = {**install(tmp_path, trex(module)), "PYTHONWARNINGS": "default"}
    if "generators" in module:
        done = netlab("schema", env=env, cwd=tmp_path)
    else:
        done = netlab("--help", env=env, cwd=tmp_path)
        listed = re.findall(r"^  ([a-z]+)  +\S", done.stdout.partition("Commands:")[2], re.M)
        # of the wings that are installed, also where this runs beside a checkout without one
        assert {*CORE, *wings.commands()} <= set(listed) and "trex" not in listed
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "netlab-trex" in line and "left out" in line and line.endswith(f"[{code}]")
    assert netlab(OF_A_WING, "--help", env=env, cwd=tmp_path).returncode == 0


def test_of_an_entry_point_without_its_package_the_package_and_the_point_are_named(tmp_path):
    env = install(tmp_path, trex(""))
    (tmp_path / "netlab_trex.py").unlink()
    done = netlab("--help", env=env, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == (
        "netlab: the wing trex of netlab-trex (entry point netlab_trex:wing) is left out: "
        "No module named 'netlab_trex'; install netlab-trex again, or uninstall it [E-WING-001]\n"
    )


def test_a_command_without_what_it_imports_is_a_sentence_and_the_others_run(tmp_path):
    module = "wing = Wing(commands={'trex': Command('netlab_trex.cli:trex', 'Run TRex.')})"
    env = install(tmp_path, trex(module))
    done = netlab("trex", env=env, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert "netlab_trex.cli:trex" in line and "install netlab-trex again" in line
    assert line.endswith("[E-WING-006]")
    done = netlab("--help", env=env, cwd=tmp_path)
    assert "Run TRex." in done.stdout and done.stderr == ""


def test_a_command_that_is_a_plain_function_is_a_sentence(tmp_path):
    module = "wing = Wing(commands={'trex': Command('netlab_trex:trex', 'Run.')})\ndef trex(): pass"
    done = netlab("trex", env=install(tmp_path, trex(module)), cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and "netlab_trex:trex" in line and line.endswith("[E-CLI-083]")


ASKED_OF_ALL = ("pages", "notebooks", "openings", "published", "path_finders", "formats")


@pytest.mark.parametrize("kind", ASKED_OF_ALL)
def test_what_is_asked_of_all_wings_lacks_one_that_cannot_be_loaded(tmp_path, kind):
    """A report, an import, or the load of results does not fail for one of them."""
    env = install(tmp_path, trex(f"wing = Wing({kind}=('netlab_trex.more:one', 'builtins:len'))"))
    functions = f"[getattr(one, '__wrapped__', one) for one in wings.{kind}()]"
    show = f"from netlab import wings; print(len in {functions}, wings.wings()['trex'])"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and done.stdout.startswith("True Wing("), done
    assert "netlab-trex" in done.stderr and "netlab_trex.more:one" in done.stderr
    assert done.stderr.count("[E-WING-006]") == 1


@pytest.mark.parametrize("kind", ["pages", "notebooks", "openings", "published"])
@pytest.mark.parametrize("fault", ["1 / 0", "sys.exit('no licence')", "yield {}['a']"])
def test_an_error_within_what_a_wing_offers_names_its_package(tmp_path, kind, fault):
    if "yield" in fault and kind not in ("pages", "notebooks"):
        fault = "{}['a']"
    module = f"import sys\nwing = Wing({kind}=('netlab_trex:one',))\ndef one(m): {fault}"
    show = (
        "from netlab import wings\nfrom netlab.errors import NetlabError\n"
        f"try: wings.{kind}()[-1](None)\nexcept NetlabError as error: print(error.with_code())\n"
    )
    env = install(tmp_path, trex(module))
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=env)
    assert done.stderr == "", done.stderr
    assert f"{kind} of the wing trex of netlab-trex: " in done.stdout
    assert done.stdout.endswith("tell its author, or uninstall it [E-WING-007]\n")


def test_a_limit_of_the_process_is_not_a_fault_of_a_wing(monkeypatch):
    def fail(_name: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(wings, "import_module", fail)
    with pytest.raises(OSError, match="Too many"):
        wings.load("netlab.fleet:wing")


STUDY = """
netlab: 1
name: mine
title: Mine
hosts: {{left: {{kind: lab}}, right: {{kind: lab}}}}
paths: {{cable: {{ends: [{{host: left}}, {{host: right}}]}}}}
groups: [{{name: a, path: cable, sender: left, generator: {generator}}}]
streams: [{streams}]
"""


@pytest.mark.parametrize(
    ("generator", "streams", "text"),
    [
        ("qperf", 4, "qperf runs at most 1 streams, not 4"),
        ("qperv", 1, "or one that an installed wing offers"),
    ],
)
def test_a_study_asks_for_a_generator_of_another_package(tmp_path, generator, streams, text):
    env = install(tmp_path, shown_files("netlab-qperf"))
    (tmp_path / "mine.yml").write_text(STUDY.format(generator=generator, streams=streams))
    done = netlab("run", "mine.yml", env=env, cwd=tmp_path)
    assert done.returncode == 2 and text in done.stderr, done
    assert "'qperf'" in done.stderr or streams == 4
    schema = netlab("schema", env=env, cwd=tmp_path)
    assert '"qperf"' in schema.stdout


def test_a_generator_that_is_another_object_is_an_error_that_names_it(tmp_path):
    env = install(tmp_path, trex("wing = Wing(generators={'trex': 'netlab_trex:TOOL'})\nTOOL = 1"))
    show = "import netlab.generators as g; g.tool_named('trex')"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=env)
    assert done.returncode == 1
    assert "is not a netlab.generators.Tool of the name trex" in done.stderr


USE_OF_OFFER = {
    "reports={'agreement': 'trex_more:own'}": (
        "netlab.analysis.own_report.own_report(results.measured)"
    ),
    "methods={'trex': 'trex_more:own'}": "netlab.Study('agreement').trex",
    "names={'Trex': 'trex_more:own'}": "netlab.Trex",
    "results={'trex': 'trex_more:own'}": "results.trex",
}


def printed_error(folder: Path, use: str, **files: str) -> str:
    """Error of netlab, with its code, at a use of what a wing with these modules offers."""
    package = trex(files.pop("wing"))
    env = install(folder, package)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    show = (
        "import netlab, netlab.analysis.own_report\n"
        "from netlab.errors import NetlabError\n"
        f"results = netlab.Results({str(guide.DOCS.parent / 'data/examples/agreement')!r})\n"
        f"try: {use}\nexcept NetlabError as error: print(error.with_code())\n"
    )
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("offer", USE_OF_OFFER)
def test_of_an_offer_in_another_module_the_package_is_named_and_not_the_module(tmp_path, offer):
    text = printed_error(tmp_path, USE_OF_OFFER[offer], wing=f"wing = Wing({offer})")
    assert text.startswith("cannot load trex_more:own: No module named 'trex_more'; ")
    assert text.endswith("install netlab-trex again, or uninstall it [E-WING-006]\n")


@pytest.mark.parametrize(
    ("own", "says"),
    [
        (
            "own = 1",
            "trex_more:own is not an OwnReport, but of type int; install netlab-trex again",
        ),
        (
            "from netlab.analysis.own_report import OwnReport\n"
            "own = OwnReport(lambda m: m.colour, 1.0, 'MB/s', 'x', '', tuple, tuple)",
            "report trex_more:own of netlab-trex: 'Measured' object has no attribute 'colour'",
        ),
    ],
)
def test_a_report_of_a_wing_that_is_no_report_or_fails_names_the_package(tmp_path, own, says):
    wing = "wing = Wing(reports={'agreement': 'trex_more:own'})"
    use = "netlab.analysis.own_report.own_report(results.measured)"
    assert says in printed_error(tmp_path, use, wing=wing, trex_more=own)
