"""Imports run one way, and no file grows past one job."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tracked_files import ROOT, tracked

LAYERS = (
    {"errors", "units", "version"},
    {"interrupts", "wings"},
    {"files", "core", "bus"},
    {"tuning"},
    {"outputs"},
    {"study", "results"},
    {"congestion", "hosts", "measure", "notebooks"},
    {"generators", "lab"},
    {"analysis"},
    {"charts"},
    {"experiment"},
    {"report"},
    {"face"},
    {"cli"},
    {"openlab"},
    {"longpath"},
    {"survey"},
    {"qualify"},
    {"bundle"},
    {"imports"},
    {"search"},
    {"fleet"},
    {"__main__"},
)
"""The packages from the lowest layer up: one imports only from layers below its own."""


OWN = ("bundle", "fleet", "imports", "longpath", "openlab", "qualify", "search", "survey")
WINGS = tuple(name for name in OWN if (ROOT / "netlab" / name).is_dir())
"""Wings that are there: each can be removed."""


PYTHON = tracked("*.py")
PACKAGE = [path for path in PYTHON if path.is_relative_to(ROOT / "netlab")]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def part_of(path: Path) -> str:
    """The module or sub-package right below netlab that a file belongs to."""
    return path.relative_to(ROOT / "netlab").parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> frozenset[str]:
    """Full names of all that a file imports, wherever in it; relative imports made absolute."""
    names: set[str] = set()
    package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return frozenset(names)


@cache
def known_by() -> dict[str, set[str]]:
    """Part -> parts of netlab that it imports itself."""
    parts = {part_of(path) for path in PACKAGE}
    known: dict[str, set[str]] = {part: set() for part in parts}
    for path in PACKAGE:
        for name in imported(path):
            first, _, rest = name.partition(".")
            part = rest.partition(".")[0]
            if first == "netlab" and part in parts and part != part_of(path):
                known[part_of(path)].add(part)
    return known


def test_every_package_has_a_layer():
    assert {"files", "errors"} <= known_by()["study"]  # the reader of imports sees what is there
    packages = set(known_by()) - {"__init__"}
    assert packages == set().union(*LAYERS) - (set(OWN) - set(WINGS))
    assert sum(map(len, LAYERS)) == len(set().union(*LAYERS))


@pytest.mark.parametrize("layer", range(len(LAYERS)))
def test_a_package_imports_only_from_layers_below(layer):
    below = set().union({"__init__"}, *LAYERS[:layer])
    for package in LAYERS[layer] & known_by().keys():
        assert known_by()[package] <= below, package


def modules_imported() -> dict[str, set[str]]:
    """Module of netlab -> others that it imports, in functions and for types included."""
    dotted = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE
    }

    def module_of(name: str) -> str:
        if name.startswith("netlab._core"):
            return ""  # compiled, it imports none
        while name and name not in dotted:
            name = name.rpartition(".")[0]
        return name

    return {
        module: {module_of(name) for name in imported(path)} - {module, ""}
        for module, path in dotted.items()
    }


def test_no_module_imports_itself_by_way_of_others():
    graph = modules_imported()
    assert "netlab.wings" in graph["netlab"]  # the reader of imports sees what is there
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


DEFERRED_BY_THE_FACE = tuple(
    f"netlab.{part}"
    for part in ("charts", "report", "experiment", "face", "congestion", "files", "notebooks")
)
"""Parts of charts, reports and campaigns: `import netlab` shows results without Matplotlib, fabric
and papermill, which these load (tests/face/test_face_names.py)."""


def imports_in_functions(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [
        node
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def test_an_import_in_a_function_says_what_it_defers():
    """A comment on its line, or above the imports that it is one of."""
    wrong, seen = [], 0
    for path in PACKAGE:
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in imports_in_functions(path):
            seen += 1
            name = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            if part_of(path) == "face" and name.startswith(DEFERRED_BY_THE_FACE):
                continue
            number, is_explained = node.lineno - 1, "#" in lines[(node.end_lineno or 0) - 1]
            while not is_explained and lines[number].lstrip()[:5] in ("", "from ", "impor"):
                number -= 1
                is_explained = lines[number].lstrip().startswith("#")
            if not is_explained:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert seen > 20
    assert not wrong, "\n".join(wrong)


def test_a_name_that_a_module_hands_on_is_taken_from_it():
    """``import X as X`` says so; where nobody takes it, it is left from code that moved."""
    from_imports = [
        (path, node)
        for path in PACKAGE
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
    ]
    taken = {(node.module, name.name) for _, node in from_imports for name in node.names}
    for path, node in from_imports:
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if path.name != "__init__.py":
            handed = {(own, name.name) for name in node.names if name.asname == name.name}
            assert handed <= taken, (own, handed - taken)


def test_the_core_imports_no_wing():
    """Imports in functions and for types count, too, but for the types of netlab's own names."""
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in PACKAGE
        for name in imported(path)
        if part_of(path) not in {*WINGS, "__init__"}
        and name.split(".")[1:2]
        and name.split(".")[1] in WINGS
        if name.startswith("netlab.")
    }
    assert found == set()


def test_every_wing_is_registered():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    registered = tomllib.loads(text)["project"]["entry-points"]["netlab.wings"]
    assert registered == {wing: f"netlab.{wing}:wing" for wing in WINGS}


ANALYSING = {"analysis", "charts", "report"}


def test_a_measurement_does_not_depend_on_its_analysis():
    reached: set[str] = set()
    for package in ("study", "hosts", "tuning", "measure", "results"):
        reached |= known_by()[package]
    assert not reached & ANALYSING
    # These run between visits: they choose how long to go on, and show the progress.
    between = {"adaptive.py", "campaign.py", "notebook_display.py", "remeasured.py"}
    measuring = [
        path for path in PACKAGE if part_of(path) == "experiment" and path.name not in between
    ]
    wrong = {
        f"{path.name} imports {name}"
        for path in measuring
        for name in imported(path)
        if name.startswith(tuple(f"netlab.{part}" for part in ANALYSING))
    }
    assert len(measuring) > 5 and not wrong


@pytest.mark.parametrize(
    ("library", "parts"),
    [
        ("cffi", {"core"}),
        ("_cffi_backend", {"core"}),
        ("netlab._core", {"core"}),
        ("fabric", {"hosts"}),
        ("paramiko", {"hosts", "fleet"}),
        ("matplotlib", {"charts", *WINGS}),
        ("seaborn", {"charts"}),
        ("papermill", {"notebooks"}),
        ("ruamel", {"files"}),
        ("typst", {"report"}),
        ("yaml", set()),
        ("pydantic", {"study", "tuning", "files", "results", *WINGS}),
        ("pyarrow", {"results"}),
    ],
)
def test_a_library_is_used_in_one_place(library, parts):
    users = {
        part_of(path)
        for path in PACKAGE
        if any(f"{name}.".startswith(f"{library}.") for name in imported(path))
    }
    assert users <= parts


def test_a_file_is_named_for_its_subject():
    vague = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert not {path.stem for path in PYTHON} & vague


def test_a_class_name_has_one_meaning():
    """The face shows parts of a study under the names that they have in it."""
    places: dict[str, list[str]] = {}
    for path in PACKAGE:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(part_of(path))
    several = {name: [p for p in packages if p != "face"] for name, packages in places.items()}
    assert {name: packages for name, packages in several.items() if len(packages) > 1} == {}


def test_parts_that_read_foreign_files_open_regular_ones_only():
    """A FIFO in results, a fleet or a bundle would block any other open() for ever."""
    wrong = []
    for path in PACKAGE:
        if part_of(path) not in {
            "files",
            "fleet",
            "imports",
            "openlab",
            "outputs",
            "results",
            "study",
        }:
            continue
        for call in ast.walk(tree(path)):
            if not isinstance(call, ast.Call) or path.name == "reading.py":
                continue
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            builtin = isinstance(call.func, ast.Name) and call.func.id == "open"
            writes = any(ast.unparse(argument) in ("'wb'", "'xb'") for argument in call.args)
            if method in ("read_text", "read_bytes") or (builtin and not writes):
                wrong.append(f"{path.name}:{call.lineno}")
    assert wrong == []


TESTS = [path for path in PYTHON if path.is_relative_to(ROOT / "tests")]


def taken_from_tests(path: Path) -> Iterator[tuple[Path, str]]:
    """Files below ``tests/`` that a test imports names from, and the names."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            place = (ROOT / "tests").joinpath(*(node.module or "").split("."))
            for alias in node.names:
                for source in (place.with_suffix(".py"), place / f"{alias.name}.py"):
                    if source.is_file():
                        yield source, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                source = (ROOT / "tests").joinpath(*alias.name.split(".")).with_suffix(".py")
                if source.is_file():
                    yield source, ""


def test_no_test_imports_from_a_test():
    """Whatever two tests need is a module of its own; all are found from one directory."""
    found = {path: list(taken_from_tests(path)) for path in TESTS}
    assert sum(map(len, found.values())) > 100  # the reader of imports sees what is there
    wrong = {
        f"{path.name} imports {source.stem}"
        for path, taken in found.items()
        for source, _ in taken
        if source.stem.startswith("test_")
    }
    by_stem = {
        f"{path.name} imports {name}"
        for path in TESTS
        for name in imported(path)
        if any(part.startswith("test_") for part in name.split(".")[:-1])
    }
    assert wrong | by_stem == set()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["pytest"]["ini_options"]["pythonpath"] == ["tests"]


def test_what_nightly_tests_take_from_others_is_there():
    """They run seldom: a name that has moved would be missed by then only."""
    wrong = []
    for path in tracked("tests/nightly/*.py"):
        for source, name in taken_from_tests(path):
            pattern = rf"^(def |class |from .* import .*|    )?{name}\b"
            if source.stem != name and not re.search(pattern, source.read_text(), re.MULTILINE):
                wrong.append(f"{path.name}: {name}")
    assert wrong == []


SHORT_WAIT = re.compile(r"(\.wait\(|\btimeout=|receive\(|monotonic\(\) - \w+ < )[12]?\d\b(?!\.)")
"""Whole seconds below ``waiting.WAIT_S``; a wait for nothing to happen takes a part of one."""


def test_no_wait_of_a_test_is_so_short_that_a_busy_machine_fails_it():
    """Nightly tests have the machine for themselves."""
    places = [path for path in tracked("tests/*.py") if "nightly" not in path.parts]
    wrong = [
        f"{path.name}:{number}: {line.strip()}"
        for path in places
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if SHORT_WAIT.search(line) and path != Path(__file__)
    ]
    assert wrong == []
