"""The netlab command: one message for each mistake, and the exit code that says whose it is."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
import yaml
from click.testing import CliRunner, Result
from lab_study import lab_study
from openlab import OPENLAB as STUDY
from refusals import refused

from netlab.cli import main
from netlab.cli.options import asked_outer
from netlab.errors import BadInput, NetlabError, Unsupported
from netlab.experiment import endpoint, preflight
from netlab.face import parts
from netlab.study import Study, load
from netlab.survey import init


def netlab(*argv: str) -> Result:
    return CliRunner().invoke(main, argv)


def written(tmp_path: Path, change) -> Path:
    """The openlab study with one change, as a file."""
    content = yaml.safe_load(STUDY.read_text())
    change(content)
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(content))
    return path


BAD = {
    "unknown key": (lambda c: c.update(stream=[1]), "stream", "E-YAML-020"),
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


LAB = {"left": {"kind": "lab"}, "right": {"kind": "lab"}}
CABLE = {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}}
OUTER = lab_study(LAB, CABLE, "kernels").model_copy(update={"outer": {"kernel": ("smp", "up")}})


def ssh_study() -> Study:
    """A study of two hosts that do not exist."""
    host = {"kind": "ssh", "address": "no-such-host.invalid"}
    ends = [("here", "127.0.0.1"), ("there", "127.0.0.2")]
    path = [{"host": name, "address": at, "interface": "lo"} for name, at in ends]
    return lab_study({"here": host, "there": host}, {"p": {"ends": path}}, "remote")


ENDS = [
    ("run openlab-2033", 2, "openlab-2033 | openlab-2003"),
    ("autotune lab --study no-such", 2, "no-such"),
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
    ("autotune a-b --study turbo.yml", 2, "turbo"),
    # a search
    ("autotune nowhere --study lab.yml", 2, "a-b"),
    ("autotune a-b --study lab.yml --seconds 3", 2, "seconds"),
    ("autotune a-b --study lab.yml --seconds nan", 2, "seconds"),
    ("autotune a-b --study lab.yml --seconds soon", 2, "soon"),
    ("autotune a-b --study lab.yml --tuning fast", 2, "tuning"),
    ("autotune a-b --study lab.yml --sender c", 2, "sender"),
    ("autotune a-b --study lab.yml --mtu 1", 2, "mtu"),
    ("autotune a-b --study lab.yml --streams 0", 2, "streams"),
    ("autotune a-b --study lab.yml --chart x.pdf", 2, "chart"),
    ("autotune a-b --study lab.yml --output x.json", 2, "output"),
    ("autotune a-b --study lab.yml --for luck", 2, "luck"),
    # a screen
    ("screen lab.yml --tuning openlab-2003-full --output best.txt", 2, "E-CLI-025"),
    ("screen lab.yml --tuning openlab-2003-full --same-within 200", 2, "E-SCREEN-006"),
    ("screen lab.yml --tuning openlab-2003-full --group other", 2, "E-SCREEN-010"),
    ("screen lab.yml --tuning openlab-2003-full --seconds 0", 2, "E-"),
    # two hosts
    ("measure left", 2, "E-CLI-035"),
    ("measure a@b@c right", 2, "E-SURVEY-009"),
    ("measure me@left left", 2, "E-SURVEY-004"),
    ("measure left right --streams 0", 2, "0 is not in the range"),
    ("init left '-x y' -o a.yml", 2, "No such option"),
    ("init me@left left -o a.yml", 2, "E-SURVEY-004"),
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
    monkeypatch.chdir(tmp_path)
    turbo = lab_study().model_dump(mode="json")
    turbo["tunings"].append({"name": "turbo", "mtus_B": [1500]})
    studies = {"lab": lab_study(), "remote": ssh_study(), "outer": OUTER}
    contents = {name: study.model_dump(mode="json") for name, study in studies.items()}
    for name, content in {**contents, "turbo": turbo}.items():
        Path(f"{name}.yml").write_text(yaml.safe_dump(content))
    before = set(tmp_path.iterdir())
    done = netlab(*shlex.split(argv))
    assert (done.exit_code, done.stdout) == (code, "")
    assert all(word in done.stderr for word in words.split(" | "))
    assert "Traceback" not in done.stderr
    assert code == 1 or set(tmp_path.iterdir()) == before


def test_check_finds_an_unreachable_host_and_fails(tmp_path):
    (tmp_path / "remote.yml").write_text(yaml.safe_dump(ssh_study().model_dump(mode="json")))
    done = netlab("check", str(tmp_path / "remote.yml"))
    assert done.exit_code == 1
    assert "fail" in done.stdout and "no-such-host.invalid" in done.stdout


# A fault that is found late leaves no line printed.


def test_tune_plan_finds_a_congestion_control_that_no_host_has_before_it_plans(monkeypatch):
    endpoints = {"left": SimpleNamespace(host=None)}  # that plan nothing
    monkeypatch.setattr(endpoint, "study_lab", lambda study: nullcontext())
    monkeypatch.setattr(endpoint, "open_endpoints", lambda *_, **__: nullcontext(endpoints))

    def refuse(study, path, host):
        raise Unsupported("left: its kernel has no congestion control 'bbx'")

    monkeypatch.setattr(parts, "_require_congestions", refuse)
    done = netlab("tune", "plan", str(STUDY))
    assert (done.exit_code, done.stdout) == (1, "") and "bbx" in done.stderr


def test_the_congestion_controls_of_a_path_are_the_kernels_a_modules_or_netlabs_own():
    def run(argv, *, check: bool = True):
        """Of a host whose kernel has reno and cubic, and a module of htcp."""
        known = argv[0] == "cat" or argv[-1] == "tcp_htcp"
        return SimpleNamespace(stdout="reno cubic\n", exit_status=0 if known else 1)

    host, study = SimpleNamespace(name="left", run=run), load(STUDY)
    for known in ("cubic", "htcp", "scalable", "cubic+fast"):
        parts._require_congestions(study.model_copy(update={"congestion": known}), "64-64", host)
    unknown = study.model_copy(update={"congestion": "cubic+bbx"})
    with pytest.raises(Unsupported, match="no congestion control 'bbx'"):
        parts._require_congestions(unknown, "64-64", host)


def test_check_prints_only_after_all_is_checked(monkeypatch):
    def findings(study, directory):
        yield preflight.Check("ok", "left", "reached")
        raise NetlabError("the second host is lost")

    monkeypatch.setattr(preflight, "preflight", findings)
    done = netlab("check", str(STUDY))
    assert (done.exit_code, done.stdout) == (1, "") and "the second host is lost" in done.stderr


def test_what_is_the_same_on_all_paths_of_a_host_is_printed_once(monkeypatch):
    said = [("left", "reached"), ("left", "data0 carries a"), ("left", "data1 carries b")]
    findings = [preflight.Check("ok", *each) for each in (*said[:2], said[0], said[2])]
    monkeypatch.setattr(preflight, "preflight", lambda study, directory: iter(findings))
    done = netlab("check", str(STUDY))
    assert done.stdout.splitlines() == [f"ok    {host}: {text}" for host, text in said]


def test_check_measures_free_space_at_the_directory_of_the_results(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        preflight, "preflight", lambda study, directory: seen.append(directory) or ()
    )
    assert netlab("check", str(STUDY)).exit_code == 0
    where = str(tmp_path / "results")
    assert netlab("check", str(STUDY), "--results", where).exit_code == 0
    assert seen == [None, tmp_path / "results"]


def test_a_study_without_a_short_form_of_its_own_gets_one(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "preflight", lambda study, directory: seen.append(study) or ())
    seen = []
    path = written(tmp_path, lambda content: content.pop("quick"))
    done = netlab("check", str(path), "--quick")
    assert done.exit_code == 0, done.output
    assert seen[0].name == "openlab-2003-quick"
    assert seen[0].timing.rounds == 3


# An SSH name on the command line becomes the keys of a study's host.

NAMES = {
    "left": ("left", None, None),
    "me@left.example.org": ("left.example.org", "me", None),
    "left:2222": ("left", None, 2222),
    "me@192.0.2.1:22": ("192.0.2.1", "me", 22),
    "2001:db8::1": ("2001:db8::1", None, None),
    "me@2001:db8::1": ("2001:db8::1", "me", None),
    "me@[2001:db8::1]:2222": ("2001:db8::1", "me", 2222),
}


@pytest.mark.parametrize(("text", "parts"), NAMES.items())
def test_a_name(text, parts):
    found = init.login_of(text, "key")
    assert (found["address"], found["user"], found["port"]) == parts
    assert found["identity_file"] == "key"


@pytest.mark.parametrize("text", ["", "me@", "a@b@c", "left:port"])
def test_what_is_no_name(text):
    with refused(BadInput, "E-SURVEY-009"):
        init.login_of(text)


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    empty = {"open_all": None, "find_paths": (), "findings": (), "study_text": ""}
    monkeypatch.setattr(init, "survey", lambda host: SimpleNamespace(boot_id=host.name))
    for name, found in empty.items():
        monkeypatch.setattr(init, name, lambda *_, found=found: found)
    hosts = ({"address": "left"}, {"address": "right"})
    with refused(BadInput, "E-SURVEY-005", match="No such file or directory"):
        init.init_study(hosts, output=tmp_path / "none" / "a.yml")


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
