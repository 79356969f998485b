"""Records become a frame with the types of a schema, or are refused."""

from __future__ import annotations

import pandas as pd
import pytest
from refusals import refused

from netlab.errors import NetlabError
from netlab.results.columns import Column
from netlab.results.frames import checked, frame_of


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=["None", "NaN", "NA"])
@pytest.mark.parametrize("dtype", ["Int64", "float64", "string", "boolean"])
def test_what_is_missing_is_so_whatever_stands_for_it(missing, dtype):
    columns = (Column("a", dtype, "", "", nullable=True),)
    objects = pd.DataFrame({"a": pd.Series([missing], dtype=object)})
    for frame in (frame_of([{"a": missing}], columns), checked(objects, columns)):
        assert frame["a"].isna().all() and str(frame["a"].dtype) == dtype


@pytest.mark.parametrize("dtype", ["Int64", "float64", "string", "boolean"])
def test_a_time_that_is_missing_stands_for_no_other_value(dtype):
    with refused(NetlabError, "E-RESULTS-002"):
        frame_of([{"a": pd.NaT}], (Column("a", dtype, "", "", nullable=True),))
