"""JSON of files, hosts and results is bounded; what is not JSON is one error that names it."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.files import bounded_json
from netlab.files.bounded_json import BadJson, parse_json, read_json
from netlab.notebooks.format import read_notebook

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (DEEP, "E-FILES-016"),
        (f'{{"a": {"[" * 200}{"]" * 200}}}', "E-FILES-018"),
        ("", "E-FILES-017"),
        ("{} {}", "E-FILES-017"),
        (b'{"a": "\xff"}', "E-FILES-017"),
        ('{"a": NaN}', "E-FILES-017"),
        ('{"a": "\\ud800"}', "E-FILES-017"),
        (f'{{"a": {"9" * 5000}}}', "E-FILES-017"),
        ("[1]", "E-FILES-019"),
        ("null", "E-FILES-019"),
    ],
)
def test_what_is_not_a_bounded_object_is_refused_with_its_place(text, code):
    with refused(BadJson, code, match="^here: "):
        parse_json(text, "here")


def test_a_file_over_the_bound_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}
    monkeypatch.setattr(bounded_json, "MAX_B", 4)
    with refused(BadJson, "E-FILES-020", match=r"a\.json"):
        read_json(tmp_path / "a.json")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), VALUES))
def test_what_python_writes_is_read_as_it_was(content):
    assert parse_json(json.dumps(content)) == content


@given(st.binary(max_size=60) | st.text('{}[]:,"\\ud8019eE.-+ntf ', max_size=60))
def test_any_bytes_are_an_object_or_an_error(text):
    with contextlib.suppress(BadJson):
        assert isinstance(parse_json(text), dict)


@pytest.mark.parametrize(
    "text",
    [
        DEEP,
        "{}",
        '{"nbformat": 4}',
        '{"nbformat": 3, "nbformat_minor": 0}',
        '{"nbformat": "x", "nbformat_minor": [], "cells": 1}',
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "x"}]}',
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": {"a": 1}}',
        '{"nbformat": 1, "worksheets": [{"cells": [{}]}]}',
        *("text", "[]", '{"nbformat": 99, "cells": []}', "\xff"),
    ],
)
def test_a_malformed_notebook_is_named_in_one_line(tmp_path, text):
    path = tmp_path / "torn.ipynb"
    path.write_bytes(text.encode("latin-1"))
    said = r"torn\.ipynb: is not a notebook[^\n]*$"
    with refused(Exception, "E-NOTEBOOKS-007", match=said):
        read_notebook(path)
