"""Any file at all becomes a mapping of plain values or one clear message."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from netlab.errors import BadInput
from netlab.files.yaml_file import MAX_BYTES, read_yaml, validated


@pytest.fixture
def written(tmp_path):
    """A function that writes text or bytes to a file and returns its path."""

    def write(content: str | bytes):
        path = tmp_path / "file.yml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_plain_values_are_read(written):
    path = written("a: 1\nb: [1.5, true, null, text]\nc: {d: ''}\n")
    assert read_yaml(path) == {"a": 1, "b": [1.5, True, None, "text"], "c": {"d": ""}}


def test_anchors_and_merges_are_read_and_a_merged_key_may_be_given_anew(written):
    path = written("base: &base {k: 1, l: 2}\nmore: {<<: *base, k: 3}\nsame: *base\n")
    assert read_yaml(path)["more"] == {"k": 3, "l": 2}
    assert read_yaml(path)["same"] == {"k": 1, "l": 2}


REFUSED = {
    "empty": ("", "no mapping"),
    "sequence": ("- 1\n", "no mapping"),
    "scalar": ("text", "no mapping"),
    "two documents": ("a: 1\n---\nb: 2\n", "single document"),
    "unclosed": ("a: [1, 2", "line 1"),
    "tab": ("a:\n\tb: 1\n", "line 2"),
    "key given twice": ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' is given twice"),
    "nested key given twice": ("x:\n  a: 1\n  a: 1\n", "line 3: the key 'a' is given twice"),
    "keys that are equal": ("1: a\n1.0: b\n", "given twice"),
    "list as key": ("? [1]\n: 2\n", "a key is a plain word"),
    "null as key": ("~: 2\n", "a key is a plain word"),
    "python object": ("a: !!python/object/apply:os.system ['true']\n", "python/object/apply"),
    "python name": ("a: !!python/name:os.system\n", "python/name:os.system"),
    "own tag": ("a: !include other.yml\n", "!include"),
    "set": ("a: !!set {1, 2}\n", "'set' is not read"),
    "binary": ("a: !!binary aGk=\n", "'binary' is not read"),
    "no int": ("a: !!int foo\n", "'foo' is no int"),
    "empty int": ('a: !!int ""\n', "'' is no int"),
    "no binary digits": ("a: 0b_\n", "'0b_' is no int"),
    "int of 5000 digits": ("a: " + "9" * 5000, "is no int"),
    "no float": ("a: !!float x\n", "'x' is no float"),
    "no bool": ("a: !!bool maybe\n", "'maybe' is no bool"),
    "no date": ("a: 2003-13-45\n", "'2003-13-45' is no timestamp"),
    "announced mapping": ("a: !!map 5\n", "mapping"),
    "recursive list": ("a: &a [*a]\n", "inside what it names"),
    "recursive mapping": ("a: &a {b: *a}\n", "inside what it names"),
    "recursive merge": ("a: &a {<<: *a}\n", "inside what it names"),
    "merge of a number": ("<<: 5\n", "merging"),
    "unknown alias": ("a: *b\n", "undefined alias"),
    "nul": (b"a: \x00\n", "#x0000"),
    "not UTF-8": (b"a: \xff\xfe\xfd\n", "not UTF-8"),
    "UTF-16": ("a: 1\n".encode("utf-16"), "not UTF-8"),
    "deep": ("[" * 50_000, "nested too deeply"),
    "deep mapping": ("{a: " * 50_000, "nested too deeply"),
    "large": (b"# " + b"x" * MAX_BYTES, "over 1 MiB"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_in_one_line_that_names_it(written, name):
    content, expected = REFUSED[name]
    path = written(content)
    with pytest.raises(BadInput) as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert expected in message
    assert len(message) < 250 + len(str(path))
    assert "\n" not in message
    assert caught.value.exit_code == 2


def bomb(opening: str, closing: str) -> str:
    """Ten lines that stand for 10^10 values, each line ten aliases of the one before."""
    lines = ["a0: &a0 {k0: 1}"]
    for level in range(1, 11):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} {opening}{aliases}{closing}")
    return "\n".join(lines)


@pytest.mark.parametrize("bounds", [("[", "]"), ("{<<: [", "]}")], ids=["lists", "merges"])
def test_a_bomb_of_aliases_is_refused_before_it_goes_off(written, bounds):
    path = written(bomb(*bounds))
    started = time.monotonic()
    with pytest.raises(BadInput, match="aliases stand for over"):
        read_yaml(path)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("name", ["missing.yml", ".", "missing/file.yml", "x" * 300, "a\0b"])
def test_what_is_no_file_is_refused(tmp_path, name):
    with pytest.raises(BadInput) as caught:
        read_yaml(tmp_path / name)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_endless_file_is_read_no_further_than_the_limit():
    with pytest.raises(BadInput, match="over 1 MiB"):
        read_yaml("/dev/zero")


def test_a_pipe_is_read(tmp_path):
    reader, writer = os.pipe()
    try:
        os.write(writer, b"a: 1\n")
        os.close(writer)
        assert read_yaml(f"/dev/fd/{reader}") == {"a": 1}
    finally:
        os.close(reader)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="ab01: -[]{}&*!|>'\"#%@`,?<~=.\n\t", max_size=80).map(str.encode),
        st.tuples(
            st.sampled_from(["int", "float", "bool", "null", "map", "seq", "str", "timestamp"]),
            st.text(alphabet="0123456789+-_:.eExbon{}[]", max_size=12),
        ).map(lambda pair: f"a: !!{pair[0]} {pair[1]}\n".encode()),
    )
)
def test_any_bytes_are_a_mapping_or_bad_input(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.yml"
    path.write_bytes(content)
    try:
        assert isinstance(read_yaml(path), dict)
    except BadInput as error:
        assert str(error).startswith(f"{path}: ")


class Small(BaseModel):
    """A model with one nested key."""

    model_config = {"extra": "forbid", "strict": True}

    sizes: dict[str, int]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"sizes": {"a": "1"}}, "f.yml: sizes.a: Input should be a valid integer (found '1')"),
        ({"sizes": {"a": None}}, "f.yml: sizes.a: Input should be a valid integer (found nothing)"),
        ({"sizes": {"a": [1]}}, "f.yml: sizes.a: Input should be a valid integer (found a list)"),
        ({"sizes": {}, "size": 2}, "f.yml: size: is no key that belongs here (found 2)"),
        ({}, "f.yml: sizes: Field required"),
    ],
)
def test_a_mistake_names_file_key_and_value(content, text):
    with pytest.raises(BadInput) as caught:
        validated(Small, content, "f.yml")
    assert str(caught.value) == text


def test_valid_content_becomes_the_model():
    assert validated(Small, {"sizes": {"a": 1}}, "f.yml") == Small(sizes={"a": 1})
