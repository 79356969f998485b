"""The netlab command: one message for each mistake, and the exit code that says whose it is."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
import yaml
from command_mistakes import OUTER, cannot_go_on, netlab, ssh_study
from openlab_study import OPENLAB as STUDY
from refusals import refused

from netlab.cli import checking
from netlab.cli.loading import asked_outer
from netlab.errors import BadInput, NetlabError, Unsupported
from netlab.experiment import endpoint, preflight, study_hosts
from netlab.face import changes
from netlab.study import load


def written(tmp_path: Path, change) -> Path:
    """The openlab study with one change, as a file."""
    content = yaml.safe_load(STUDY.read_text())
    change(content)
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(content))
    return path


BAD = {
    "unknown key": (lambda c: c.update(stream=[1]), "stream", "E-YAML-020"),
    "key in the wrong place": (lambda c: c.update(rounds=3), "rounds", "'timing' or 'quick'"),
    "NaN": (lambda c: c["timing"].update(seconds=float("nan")), "timing.seconds", "nan"),
    "unknown tuning": (
        lambda c: c["tunings"][0].update(profile="openlab-2003-norml"),
        *("tunings.0", "the nearest: openlab-2003-normal"),
    ),
    "unknown congestion control": (
        lambda c: c.update(congestion="cubik"),
        *("congestion", "the nearest: cubic"),
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["run", "check"])
def test_bad_input_is_one_message_with_file_key_and_value_and_exit_code_2(tmp_path, name, command):
    change, key, value = BAD[name]
    done = netlab(command, str(written(tmp_path, change)))
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert "mine.yml" in line and key in line and value.lower() in line.lower()


ENDS = [
    ("run openlab-2033", 2, "openlab-2033 | openlab-2003"),
    ("check openlab-2003 --rounds 0", 2, "rounds"),
    ("check openlab-2003 --seconds nan", 2, "seconds"),
    ("check openlab-2003 --seed -1", 2, "seed"),
    ("report openlab-2003 --results none", 1, "run it first"),
    ("run remote.yml --results r", 1, "no-such-host.invalid"),
    ("lab down nosuch", 2, "nosuch"),
    ("tune plan openlab-2003 --tuning turbo", 2, "turbo | kernel"),
    ("tune plan openlab-2003 --path moon", 2, "moon | 64-64"),
    # an unknown tuning of the study
    *((f"{command} turbo.yml", 2, "turbo") for command in ("check", "tune plan", "run", "study")),
    # a level that a person sets
    *(
        (f"{command} outer.yml --results r {options}", 2, f"{code} | outer.")
        for command in ("run", "study")
        for options, code in (
            ("", "E-STUDY-073"),
            ("--outer kernel=xen", "E-STUDY-074"),
            ("--outer kernel=up --outer firmware=3", "E-STUDY-072"),
        )
    ),
    *((f"run outer.yml --outer {text}", 2, "NAME=LEVEL") for text in ("kernel", "=up", "kernel=")),
    ("run outer.yml --outer kernel=up --outer kernel=smp", 2, "given twice"),
]


@pytest.mark.parametrize(("argv", "code", "words"), ENDS)
def test_a_command_that_cannot_go_on_says_why(tmp_path, monkeypatch, argv, code, words):
    cannot_go_on(tmp_path, monkeypatch, argv, code, words)


def test_check_finds_an_unreachable_host_and_fails(tmp_path):
    (tmp_path / "remote.yml").write_text(yaml.safe_dump(ssh_study().model_dump(mode="json")))
    done = netlab("check", str(tmp_path / "remote.yml"))
    assert done.exit_code == 1
    assert "fail" in done.stdout and "no-such-host.invalid" in done.stdout


def test_tune_plan_finds_a_congestion_control_that_no_host_has_before_it_plans(monkeypatch):
    endpoints = {"left": SimpleNamespace(host=None)}  # that plan nothing
    monkeypatch.setattr(study_hosts, "study_lab", lambda study: nullcontext())
    monkeypatch.setattr(endpoint, "open_endpoints", lambda *_, **__: nullcontext(endpoints))

    def refuse(study, path, host):
        raise Unsupported("left: its kernel has no congestion control 'bbx'")

    monkeypatch.setattr(changes, "_require_congestions", refuse)
    done = netlab("tune", "plan", str(STUDY))
    assert (done.exit_code, done.stdout) == (1, "") and "bbx" in done.stderr


def test_the_congestion_controls_of_a_path_are_the_kernels_a_modules_or_netlabs_own():
    def run(argv, *, check: bool = True):
        """Of a host whose kernel has reno and cubic, and a module of htcp."""
        known = argv[0] == "cat" or argv[-1] == "tcp_htcp"
        return SimpleNamespace(stdout="reno cubic\n", exit_status=0 if known else 1)

    host, study = SimpleNamespace(name="left", run=run), load(STUDY)
    for known in ("cubic", "htcp", "scalable", "cubic+fast"):
        changes._require_congestions(study.model_copy(update={"congestion": known}), "64-64", host)
    unknown = study.model_copy(update={"congestion": "cubic+bbx"})
    with pytest.raises(Unsupported, match="no congestion control 'bbx'"):
        changes._require_congestions(unknown, "64-64", host)


def test_check_prints_only_after_all_is_checked(monkeypatch):
    def findings(study, directory):
        yield preflight.Check("ok", "left", "reached")
        raise NetlabError("the second host is lost")

    monkeypatch.setattr(checking, "preflight", findings)
    done = netlab("check", str(STUDY))
    assert (done.exit_code, done.stdout) == (1, "") and "the second host is lost" in done.stderr


def test_what_is_the_same_on_all_paths_of_a_host_is_printed_once(monkeypatch):
    said = [("left", "reached"), ("left", "data0 carries a"), ("left", "data1 carries b")]
    findings = [preflight.Check("ok", *each) for each in (*said[:2], said[0], said[2])]
    monkeypatch.setattr(checking, "preflight", lambda study, directory: iter(findings))
    done = netlab("check", str(STUDY))
    assert done.stdout.splitlines() == [f"ok    {host}: {text}" for host, text in said]


def test_check_measures_free_space_at_the_directory_of_the_results(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        checking, "preflight", lambda study, directory: seen.append(directory) or ()
    )
    assert netlab("check", str(STUDY)).exit_code == 0
    where = str(tmp_path / "results")
    assert netlab("check", str(STUDY), "--results", where).exit_code == 0
    assert seen == [None, tmp_path / "results"]


def test_a_study_without_a_short_form_of_its_own_gets_one(tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "preflight", lambda study, directory: seen.append(study) or ())
    seen = []
    path = written(tmp_path, lambda content: content.pop("quick"))
    done = netlab("check", str(path), "--quick")
    assert done.exit_code == 0, done.output
    assert seen[0].name == "openlab-2003-quick"
    assert seen[0].timing.rounds == 3


def test_a_level_is_asked_for_on_a_terminal_alone(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    asked = []
    monkeypatch.setattr(click, "prompt", lambda text, **options: asked.append(text) or "up")
    assert asked_outer(OUTER, {}) == {"kernel": "up"}
    assert asked_outer(OUTER, {"kernel": "smp"}) == {"kernel": "smp"}
    assert len(asked) == 1 and "kernel" in asked[0]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    with refused(BadInput, "E-STUDY-073"):
        asked_outer(OUTER, {})
