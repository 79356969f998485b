"""No reader of a stranger's bytes fails but with an error of netlab's."""

import os

import any_input
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import NetlabError

CHANGES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.integers(0, len(any_input.TOKENS) + 255)),
    max_size=4,
)


@pytest.mark.parametrize("reader", any_input.READERS)
@given(changes=CHANGES, other=st.none() | st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(reader, tmp_path_factory, changes, other):
    whole = any_input.READERS[reader][1]()
    content = any_input.mutated(whole, changes) if other is None else other
    file = any_input.file_in(tmp_path_factory.getbasetemp())
    any_input.accepts_or_refuses(reader, content, file)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("reader", any_input.OPENED)
def test_a_fifo_in_place_of_a_file_does_not_block_its_reader(reader, tmp_path):
    fifo = any_input.file_in(tmp_path)
    os.mkfifo(fifo)
    with pytest.raises(NetlabError, match="regular"):
        any_input.READERS[reader][0](fifo)


@pytest.mark.parametrize("reader", [name for name in any_input.READERS if name != "answers"])
def test_what_the_mutations_begin_with_is_read(reader, tmp_path):
    whole = any_input.READERS[reader][1]()
    assert any_input.accepts_or_refuses(reader, whole, any_input.file_in(tmp_path))
