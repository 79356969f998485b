"""The netlab command: one message for each mistake, and the exit code that says whose it is."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from click.testing import CliRunner

from netlab.cli import main
from netlab.errors import NetlabError, Unsupported
from netlab.experiment import endpoint, preflight
from netlab.face import parts
from netlab.study import load

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "data" / "studies" / "openlab-2003.yml"


def netlab(*argv: str) -> SimpleNamespace:
    """Run the command in this process."""
    done = CliRunner().invoke(main, argv)
    return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)


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
        "tunings.0",
        "the nearest: openlab-2003-normal",
    ),
    "unknown congestion control": (
        lambda c: c.update(congestion="cubik"),
        "congestion",
        "the nearest: cubic",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["run", "check"])
def test_bad_input_is_one_message_with_file_key_and_value_and_exit_code_2(tmp_path, name, command):
    change, key, value = BAD[name]
    done = netlab(command, str(written(tmp_path, change)))
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert "mine.yml" in lines[0]
    assert key in lines[0]
    assert value.lower() in lines[0].lower()


def ssh_study(tmp_path: Path) -> Path:
    """A study of two hosts that do not exist."""
    host = {"kind": "ssh", "address": "no-such-host.invalid"}
    content = {
        "netlab": 1,
        "name": "remote",
        "title": "Two hosts",
        "hosts": {"here": host, "there": host},
        "paths": {
            "p": {
                "ends": [
                    {"host": "here", "address": "127.0.0.1", "interface": "lo"},
                    {"host": "there", "address": "127.0.0.2", "interface": "lo"},
                ]
            }
        },
        "groups": [{"name": "g", "path": "p", "sender": "here"}],
        "tunings": [{"name": "openlab-2003-normal", "mtus_B": [1500]}],
        "streams": [1],
    }
    path = tmp_path / "remote.yml"
    path.write_text(yaml.safe_dump(content))
    return path


PLAN = ("tune", "plan", str(STUDY))
ENDS = {
    "no such study": (("run", "openlab-2033"), 2, ("openlab-2033", "openlab-2003")),
    "no study to search for": (("autotune", "lab", "--study", "no-such"), 2, ("no-such",)),
    "no rounds": (("check", str(STUDY), "--rounds", "0"), 2, ("rounds",)),
    "endless seconds": (("check", str(STUDY), "--seconds", "nan"), 2, ("seconds",)),
    "negative seed": (("check", str(STUDY), "--seed", "-1"), 2, ("seed",)),
    "nothing measured": (("report", str(STUDY), "--results", "none"), 1, ("run it first",)),
    "unknown host": (("run", "remote.yml", "--results", "r"), 1, ("no-such-host.invalid",)),
    "unknown lab": (("lab", "down", "nosuch"), 2, ("nosuch",)),
    "unknown tuning": ((*PLAN, "--tuning", "turbo"), 2, ("turbo", "kernel")),
    "unknown path": ((*PLAN, "--path", "moon"), 2, ("moon", "64-64")),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_command_that_cannot_go_on_says_why(tmp_path, monkeypatch, name):
    argv, code, words = ENDS[name]
    monkeypatch.chdir(tmp_path)
    ssh_study(tmp_path)
    done = netlab(*argv)
    assert (done.returncode, done.stdout) == (code, "")
    assert all(word in done.stderr for word in words) and "Traceback" not in done.stderr


def test_check_finds_an_unreachable_host_and_fails(tmp_path):
    done = netlab("check", str(ssh_study(tmp_path)))
    assert done.returncode == 1
    assert "fail" in done.stdout and "no-such-host.invalid" in done.stdout


# Unknown names: one message, before a host is reached and before a line is printed.


@pytest.mark.parametrize(
    "command", [("check",), ("tune", "plan"), ("run",), ("study",), ("autotune", "64-64")]
)
def test_an_unknown_tuning_is_found_before_anything_is_printed(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)

    def change(content):
        content["tunings"].append({"name": "turbo", "mtus_B": [1500]})

    path = str(written(tmp_path, change))
    argv = ("--study", path) if command[0] == "autotune" else (path,)
    done = netlab(*command, *argv)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "turbo" in done.stderr
    assert "Traceback" not in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.yml"]


def test_tune_plan_finds_a_congestion_control_that_no_host_has_before_it_plans(monkeypatch):
    class Endpoint:
        host = object()

        def planned(self, profile, mtu_B):
            raise AssertionError("planned before the names were known")

    @contextmanager
    def opened(*_argv, **_more):
        yield {"left": Endpoint()}

    monkeypatch.setattr(endpoint, "study_lab", lambda study: nullcontext())
    monkeypatch.setattr(endpoint, "open_endpoints", opened)

    def refuse(study, path, host):
        raise Unsupported("left: its kernel has no congestion control 'bbx'")

    monkeypatch.setattr(parts, "_require_congestions", refuse)
    done = CliRunner().invoke(main, ["tune", "plan", str(STUDY)])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "bbx" in done.stderr


class KernelHost:
    """A host whose kernel has reno and cubic, and modules of these names."""

    def __init__(self, *modules: str):
        self.name, self.modules = "left", modules

    def run(self, argv, *, check: bool = True):
        if argv[0] == "cat":
            return SimpleNamespace(stdout="reno cubic\n", exit_status=0)
        return SimpleNamespace(stdout="", exit_status=0 if argv[-1] in self.modules else 1)


def test_the_congestion_controls_of_a_path_are_the_kernels_a_modules_or_netlabs_own():
    study = load(STUDY)

    def of(name: str):
        return study.model_copy(update={"congestion": name})

    host = KernelHost("tcp_htcp")
    for known in ("cubic", "htcp", "scalable", "cubic+fast"):
        parts._require_congestions(of(known), "64-64", host)
    with pytest.raises(Unsupported, match="no congestion control 'bbx'"):
        parts._require_congestions(of("cubic+bbx"), "64-64", host)


def test_check_prints_only_after_all_is_checked(monkeypatch):
    def findings(study, directory):
        yield preflight.Check("ok", "left", "reached")
        raise NetlabError("the second host is lost")

    monkeypatch.setattr(preflight, "preflight", findings)
    done = CliRunner().invoke(main, ["check", str(STUDY)])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "the second host is lost" in done.stderr


def test_what_is_the_same_on_all_paths_of_a_host_is_printed_once(monkeypatch):
    said = [("left", "reached"), ("left", "data0 carries a"), ("left", "data1 carries b")]
    findings = [preflight.Check("ok", *each) for each in (*said[:2], said[0], said[2])]
    monkeypatch.setattr(preflight, "preflight", lambda study, directory: iter(findings))
    done = CliRunner().invoke(main, ["check", str(STUDY)])
    assert done.stdout.splitlines() == [f"ok    {host}: {text}" for host, text in said]


def test_check_measures_free_space_at_the_directory_of_the_results(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        preflight, "preflight", lambda study, directory: seen.append(directory) or ()
    )
    assert CliRunner().invoke(main, ["check", str(STUDY)]).exit_code == 0
    where = str(tmp_path / "results")
    assert CliRunner().invoke(main, ["check", str(STUDY), "--results", where]).exit_code == 0
    assert seen == [None, tmp_path / "results"]


def test_a_study_without_a_short_form_of_its_own_gets_one(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "preflight", lambda study, directory: seen.append(study) or ())
    seen = []
    path = written(tmp_path, lambda content: content.pop("quick"))
    done = CliRunner().invoke(main, ["check", str(path), "--quick"])
    assert done.exit_code == 0, done.output
    assert seen[0].name == "openlab-2003-quick"
    assert seen[0].timing.rounds == 2
