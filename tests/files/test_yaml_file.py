"""Any file at all becomes a mapping of plain values or one clear message."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator
from pydantic_core import PydanticCustomError
from refusals import refused

from netlab.errors import BadInput, Mistakes
from netlab.files.yaml_file import MAX_BYTES, read_yaml, validated, yaml_line, yaml_text


@pytest.fixture
def written(tmp_path):
    """A function that writes text or bytes to a file and returns its path."""

    def write(content: str | bytes):
        path = tmp_path / "file.yml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_plain_values_anchors_and_merges_are_read(written):
    path = written("a: 1\nb: [1.5, true, null, text]\nc: {d: ''}\n")
    assert read_yaml(path) == {"a": 1, "b": [1.5, True, None, "text"], "c": {"d": ""}}
    path = written("base: &base {k: 1, l: 2}\nmore: {<<: *base, k: 3}\nsame: *base\n")
    assert read_yaml(path)["more"] == {"k": 3, "l": 2}
    assert read_yaml(path)["same"] == {"k": 1, "l": 2}


YAML_1_2 = {
    "octal has an o": ("0o10", 8),
    "hexadecimal": ("0x1F", 31),
    "colons are not base 60": ("1:30", "1:30"),
    "nor with seconds": ("1:30:00", "1:30:00"),
    "on is text": ("on", "on"),
    "off is text": ("Off", "Off"),
    "yes is text": ("yes", "yes"),
    "n is text": ("n", "n"),
    "a date is text": ("2003-11-05", "2003-11-05"),
    "no date is text as well": ("2003-13-45", "2003-13-45"),
    "an equals sign is text": ("=", "="),
    "the sign of a merge is text": ("<<", "<<"),
    "an exponent makes a float": ("1e3", 1000.0),
    "true in capitals": ("TRUE", True),
}


@pytest.mark.parametrize("name", YAML_1_2)
def test_plain_words_are_read_as_yaml_1_2_says(written, name):
    text, value = YAML_1_2[name]
    read = read_yaml(written(f"a: {text}\n"))["a"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("text", ["010", "-007", "+00"])
def test_a_leading_zero_is_refused_with_its_line(written, text):
    with pytest.raises(BadInput, match="leading zero") as caught:
        read_yaml(written(f"a: 0\nb: {text}\n"))
    assert caught.value.code == "E-YAML-024" and caught.value.where.endswith(":2")
    assert read_yaml(written(f"a: '{text}'\n")) == {"a": text}


@pytest.mark.parametrize("text", ["010", "0o10", "1:30", "on", "yes", "1e3", "2003-11-05", "", "~"])
def test_text_that_looks_like_another_value_is_written_and_read_as_text(written, text):
    content = {"z": text, "a": [{text: [text]}]}
    assert read_yaml(written(yaml_text(content))) == content


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.text("ab01:-.eExo~<= ", max_size=6),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(allow_nan=False),
            st.text("an01:-.eEx~ "),
        ),
        max_size=4,
    )
)
def test_a_written_file_reads_back_equal(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "written.yml"
    path.write_text(yaml_text(content))
    assert read_yaml(path) == content


REFUSED = {
    "empty": ("", "008", None),
    "sequence": ("- 1\n", "008", None),
    "scalar": ("text", "008", None),
    "two documents": ("a: 1\n---\nb: 2\n", "007", 2),
    "unclosed": ("a: [1, 2", "007", 1),
    "tab": ("a:\n\tb: 1\n", "007", 2),
    "YAML 1.1": ("%YAML 1.1\n---\na: on\n", "015", None),
    "key given twice": ("a: 1\nb: 2\na: 3\n", "014", 3),
    "nested key given twice": ("x:\n  a: 1\n  a: 1\n", "014", 3),
    "key given twice beside a merge": ("b: &b {x: 1}\na: {<<: *b, k: 1, k: 2}\n", "014", 2),
    "two merges": ("b: &b {x: 1}\na: {<<: *b, <<: *b}\n", "007", 2),
    "keys that are equal": ("1: a\n1.0: b\n", "014", 2),
    "list as key": ("? [1]\n: 2\n", "013", 1),
    "null as key": ("~: 2\n", "013", 1),
    "python object": ("a: !!python/object/apply:os.system ['true']\n", "011", 1),
    "python name": ("a: !!python/name:os.system\n", "011", 1),
    "own tag": ("a: !include other.yml\n", "011", 1),
    "set": ("a: !!set {1, 2}\n", "011", 1),
    "binary": ("a: !!binary aGk=\n", "011", 1),
    "no int": ("a: !!int foo\n", "012", 1),
    "empty int": ('a: !!int ""\n', "012", 1),
    "no binary digits": ("a: 0b_\n", "012", 1),
    "int of 5000 digits": ("a: " + "9" * 5000, "012", 1),
    "no float": ("a: !!float x\n", "012", 1),
    "no bool": ("a: !!bool maybe\n", "012", 1),
    "announced mapping": ("a: !!map 5\n", "007", 1),
    "recursive list": ("a: &a [*a]\n", "009", 1),
    "recursive mapping": ("a: &a {b: *a}\n", "009", 1),
    "recursive merge": ("a: &a {<<: *a}\n", "009", 1),
    "merge of a number": ("<<: 5\n", "007", 1),
    "unknown alias": ("a: *b\n", "007", 1),
    "nul": (b"a: 1\nb: \x00\n", "006", 2),
    "not UTF-8": (b"a: \xff\xfe\xfd\n", "004", None),
    "UTF-16": ("a: 1\n".encode("utf-16"), "004", None),
    "deep": ("[" * 50_000, "005", None),
    "deep mapping": ("{a: " * 50_000, "005", None),
    "large": (b"# " + b"x" * MAX_BYTES, "003", None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_in_one_line_that_names_it(written, name):
    content, code, line = REFUSED[name]
    path = written(content)
    with refused(BadInput, f"E-YAML-{code}") as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert len(message) < 250 + len(str(path))
    assert "\n" not in message
    assert caught.value.exit_code == 2


def test_every_mistake_of_the_yaml_is_reported_at_once(written):
    path = written("a: 1\na: 2\nb: !!int x\nc: !x 1\nd: {~: 1}\n")
    with refused(Mistakes, "E-YAML-023") as caught:
        read_yaml(path)
    each = [(one.where, one.code) for one in caught.value.mistakes]
    assert each == [
        (f"{path}:2", "E-YAML-014"),
        (f"{path}:3", "E-YAML-012"),
        (f"{path}:4", "E-YAML-011"),
        (f"{path}:5", "E-YAML-013"),
    ]


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
    started_s = time.process_time()
    with refused(BadInput, "E-YAML-010"):
        read_yaml(path)
    assert time.process_time() - started_s < 5


@pytest.mark.parametrize("name", ["missing.yml", ".", "missing/file.yml", "x" * 300, "a\0b"])
def test_a_path_that_is_not_a_file_is_refused(tmp_path, name):
    with refused(BadInput, "E-YAML-001", "E-YAML-002") as caught:
        read_yaml(tmp_path / name)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pipe_is_read_no_further_than_the_limit_and_a_device_not_at_all(tmp_path):
    reader, writer = os.pipe()
    try:
        os.write(writer, b"a: 1\n")
        os.close(writer)
        assert read_yaml(f"/dev/fd/{reader}") == {"a": 1}
    finally:
        os.close(reader)
    with refused(BadInput, "E-YAML-003"), open("/dev/zero", "rb") as endless:
        read_yaml(f"/dev/fd/{endless.fileno()}")
    with refused(BadInput, "E-YAML-001", match="not a regular file"):
        read_yaml("/dev/zero")


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
        assert str(error).startswith(f"{path}:")


class Small(BaseModel):
    """A model with a nested mapping, a list of models and a value of two kinds."""

    model_config = {"extra": "forbid", "strict": True}

    class Part(BaseModel):
        """A model below it: a key has another name in files, one is like a key above it."""

        model_config = {"extra": "forbid", "strict": True}

        width: int = 0
        size: int = 0
        with_: str = Field("", alias="with")

    sizes: dict[str, int]
    parts: list[Part] = Field(default_factory=list)
    either: Part | int | None = None

    @field_validator("either")
    @classmethod
    def _is_not_13(cls, value: object) -> object:
        if value == 13:
            raise PydanticCustomError("E-SMALL-001", "never 13")
        if value == 14:
            raise ValueError("not 14 either")
        return value


def refusal(content) -> BadInput:
    with pytest.raises(BadInput) as caught:
        validated(Small, content, "f.yml")
    return caught.value


NO_INTEGER = "sizes.a: expected a whole number"
MEANT = "unknown key; did you mean"


@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        ({"sizes": {"a": "1"}}, "022", f"{NO_INTEGER} (found '1')"),
        ({"sizes": {"a": None}}, "022", f"{NO_INTEGER} (found nothing)"),
        ({"sizes": {"a": [1]}}, "022", f"{NO_INTEGER} (found a list)"),
        ({"sizes": {}, "size": 2}, "020", f"size: {MEANT} 'sizes'? (found 2)"),
        (
            {"sizes": {}, "colour": 2},
            "020",
            "colour: unknown key; allowed: sizes, parts, either (found 2)",
        ),
        (
            {"sizes": {}, "parts": [{}, {"widht": 1}]},
            "020",
            f"parts.1.widht: {MEANT} 'width'? (found 1)",
        ),
        ({"sizes": {}, "either": {"wiht": 1}}, "020", f"either.wiht: {MEANT} 'with'? (found 1)"),
        (
            {"sizes": {}, "with": "x"},
            "020",
            "with: unknown key; it is a key of 'parts' or 'either' here (found 'x')",
        ),
        ({}, "021", "sizes: required key is missing"),
        ({"sizes": {}, "either": 14}, "022", "either: not 14 either (found 14)"),
    ],
)
def test_a_mistake_names_file_key_value_and_the_allowed_values(content, code, text):
    error = refusal(content)
    first = error.mistakes[0] if isinstance(error, Mistakes) else error
    assert str(first) == f"f.yml: {text}"
    assert first.code == f"E-YAML-{code}"


def test_a_model_may_give_a_code_of_its_own_and_a_long_list_of_mistakes_is_cut():
    error = refusal({"sizes": {}, "either": 13})
    assert error.code == "E-SMALL-001"
    assert str(error) == "f.yml: either: never 13 (found 13)"
    error = refusal({"sizes": {f"k{i}": "x" for i in range(30)}})
    assert len(error.mistakes) == 20
    assert str(error).splitlines()[0] == "f.yml: 30 mistakes"
    assert str(error).splitlines()[-1] == "  and 10 more"


def test_the_mistakes_of_a_file_are_reported_at_once_in_its_order_with_their_lines(written):
    path = written(
        "parts:\n"
        "  - {width: 1}\n"
        "  - width: x\n"
        "    hieght: 2\n"
        "either:\n"
        "  with: 3\n"
        "extra: 1\n"
        "sizes: {a: 1,\n"
        "  b: two}\n"
    )
    with refused(Mistakes, "E-YAML-023") as caught:
        validated(Small, read_yaml(path), str(path))
    found = [(one.where.removeprefix(f"{path}:"), one.key) for one in caught.value.mistakes]
    assert found == [
        ("3", "parts.1.width"),
        ("4", "parts.1.hieght"),
        ("6", "either.with"),
        ("7", "extra"),
        ("9", "sizes.b"),
    ]
    assert str(caught.value).splitlines()[0] == f"{path}: 5 mistakes"
    assert (caught.value.key, caught.value.value) == ("parts.1.width", "x")


def test_a_missing_key_and_a_merged_value_have_the_line_of_their_source(written):
    path = written("# a comment\n\nparts: []\n")
    with pytest.raises(BadInput) as caught:
        validated(Small, read_yaml(path), str(path))
    assert str(caught.value) == f"{path}:3: sizes: required key is missing"
    path = written("parts:\n  - &p\n    width: x\n  - <<: *p\n    with: w\nsizes: {}\n")
    with pytest.raises(Mistakes) as caught:
        validated(Small, read_yaml(path), str(path))
    assert [one.where for one in caught.value.mistakes] == [f"{path}:3"] * 2


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda key: key not in ("no", "on")),
        st.one_of(
            st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
            st.sampled_from(["::1", "on", "No", "a -> b", "a <-> b", "192.0.2.1", "010", "1:30"]),
            st.integers(-(10**9), 10**9),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_line_reads_back_to_equal_values(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "line.yml"
    path.write_text(yaml_line(content))
    assert read_yaml(path) == content


def test_a_line_has_quotes_only_where_they_are_needed():
    content = {"name": "a -> b", "address": "192.0.2.1", "peer": "::1", "rounds": 5, "sack": "on"}
    assert yaml_line(content) == (
        '{name: a -> b, address: 192.0.2.1, peer: "::1", rounds: 5, sack: "on"}'
    )
