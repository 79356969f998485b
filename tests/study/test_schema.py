"""The JSON Schema of a study: every key described, studies pass, mistakes do not."""

from __future__ import annotations

import json

import guide
import jsonschema
import pytest
from click.testing import CliRunner
from openlab_study import CONTENT, changed
from pydantic import BaseModel

from netlab.cli import main
from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.files.yaml_file import read_yaml
from netlab.study import QUICK, Study, load
from netlab.study.frozen import freeze
from netlab.study.schema import PARTS, json_schema, yaml_flow

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
STUDIES = sorted((data_dir() / "studies").glob("*.yml"))


def parts():
    """The schema of every part that has keys, by the name of its model."""
    found = {"Study": SCHEMA, **SCHEMA["$defs"]}
    return [(name, part) for name, part in found.items() if "properties" in part]


def test_it_is_a_json_schema_of_every_part_and_key_that_the_models_have():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert {*PARTS, "Described"} == {name for name, _ in parts()}
    described = dict(parts())
    assert {"Study", "Group", "Emulator", "Factors"} <= set(models())
    for name, model in models().items():
        names = {field.alias or key for key, field in model.model_fields.items()}
        assert names == set(described[name]["properties"]), name


@pytest.mark.parametrize(("name", "part"), parts(), ids=[name for name, _ in parts()])
def test_every_key_has_a_description_and_an_example_that_fits(name, part):
    for key, place in part["properties"].items():
        assert place["description"] and len(place["examples"]) == 1, key
        alone = VALIDATOR.evolve(schema={**place, "$defs": SCHEMA["$defs"]})
        alone.validate(place["examples"][0])


def models():
    """Every model below a study."""
    found, todo = {}, [Study]
    while todo:
        model = todo.pop()
        if model.__name__ in found:
            continue
        found[model.__name__] = model
        todo += [m for field in model.model_fields.values() for m in inside(field.annotation)]
    return found


def inside(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for arg in getattr(annotation, "__args__", ()) for m in inside(arg)]


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_every_study_that_netlab_brings_is_valid(file):
    VALIDATOR.validate(json.loads(json.dumps(read_yaml(file))))


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True])
def test_the_copy_of_a_study_beside_its_results_is_valid_and_has_its_digest(file, quick, tmp_path):
    study = load(file, quick=quick)
    VALIDATOR.validate(json.loads(json.dumps(read_yaml(freeze(study, tmp_path)))))
    again = load(tmp_path / "study.yml")
    assert again.name.endswith(QUICK) == quick and again.digest() == study.digest()


@pytest.mark.parametrize("name", guide.files("guide.md"))
def test_the_studies_of_the_guide_are_valid(name, tmp_path):
    (tmp_path / name).write_text(guide.files("guide.md")[name])
    VALIDATOR.validate(json.loads(json.dumps(read_yaml(tmp_path / name))))


WRITTEN = {
    "a duration": ("precision", {"budget": "20min"}),
    "a wad.conf": ("stacks", {"mine": {"wad_conf": "wad.conf", "entry": "GVA"}}),
    "a published table": ("published", {"title": "T", "source": "S", "file": "t.csv"}),
    "a file of one": ("published", "theirs.yml"),
    "a CPU as a number": ("socket", {"cpus_sender": 1}),
    "a knob without a source": (
        "tunings",
        [{"name": "mine", "knobs": [{"kind": "mtu", "value": 9000}]}],
    ),
    "a policy of bytes": ("policy", {"batch_B": 65536, "yield_B": "never"}),
    "levels of a policy": ("factors", {"batch_B": ["none", 4096], "cpus_sender": ["0", 1]}),
    "several streams left out": ("exclude", [{"streams": [1, 4], "send": "zerocopy"}]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_file_may_have_is_valid(name):
    key, value = WRITTEN[name]
    VALIDATOR.validate({**json.loads(json.dumps(CONTENT)), key: value})


WRONG = {
    "an unknown key": ("stream", [1]),
    "another version": ("netlab", 2),
    "a name with a blank": ("name", "my study"),
    "streams that are not a list": ("streams", 4),
    "no stream": ("streams", []),
    "zero streams": ("streams", [0]),
    "a text as a number": ("seed", "many"),
    "negative seconds": ("timing", {"seconds": -1.0}),
    "an unknown key of the timing": ("timing", {"second": 1.0}),
    "an unknown engine": ("engine", "fast"),
    "an unknown factor": ("factors", {"colour": ["red"]}),
    "a factor without levels": ("factors", {"buffer_B": []}),
    "an MTU below the least": ("tunings", [{"name": "none", "mtus_B": [100]}]),
    "an unknown kind of knob": (
        "tunings",
        [{"name": "mine", "knobs": [{"kind": "file", "value": 1}]}],
    ),
    "a loss above 1": (
        "paths",
        {"p": {"ends": [{"host": "a"}, {"host": "b"}], "link": {"emulator": {"loss": 2}}}},
    ),
    "a path of one end": ("paths", {"p": {"ends": [{"host": "a"}]}}),
    "a group without a path": ("groups", [{"name": "g", "sender": "linux64-a"}]),
    "an unknown direction": (
        "groups",
        [{"name": "g", "path": "64-64", "sender": "linux64-a", "direction": "<-"}],
    ),
    "an unknown law": ("stacks", {"mine": {"law": "bbr"}}),
    "one host": ("hosts", {"a": {"kind": "lab"}}),
    "an unknown kind of host": ("hosts", {"a": {"kind": "vm"}, "b": {"kind": "lab"}}),
    "a batch of a word": ("policy", {"batch_B": "large"}),
    "a confidence of 1": ("confidence", 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_refused_by_the_schema_and_by_netlab(name, tmp_path):
    key, value = WRONG[name]
    assert not VALIDATOR.is_valid(json.loads(json.dumps(changed(key, value))))
    (tmp_path / "mine.yml").write_text(json.dumps(changed(key, value)))
    with pytest.raises(BadInput):
        load(tmp_path / "mine.yml")


@pytest.mark.parametrize(
    "key", [k for k, p in SCHEMA["properties"].items() if k in SCHEMA["required"]]
)
def test_a_missing_key_is_refused_and_described(key, tmp_path):
    content = json.loads(json.dumps(CONTENT))
    del content[key]
    assert not VALIDATOR.is_valid(content)
    (tmp_path / "mine.yml").write_text(json.dumps(content))
    with pytest.raises(BadInput) as caught:
        load(tmp_path / "mine.yml")
    assert (caught.value.code, caught.value.key) == ("E-YAML-021", key)
    assert SCHEMA["properties"][key]["description"] in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        *("left -> right", "<->", "on", "1", "a: b", "x, y", 1.5, True, None),
        *({"a": [1, "b"]}, "~/x", "-"),
    ],
)
def test_examples_are_yaml_of_the_same_value(value):
    import yaml

    assert yaml.safe_load(yaml_flow(value)) == value


def test_the_command_prints_the_schema():
    done = CliRunner().invoke(main, ["schema"])
    assert done.exit_code == 0 and json.loads(done.output) == json.loads(json.dumps(SCHEMA))
    reference = CliRunner().invoke(main, ["schema", "--reference"])
    assert reference.output.startswith("## A study\n") and "`hosts.NAME.bus`" in reference.output
