"""An outer factor has a column of its own in the frames of results."""

from __future__ import annotations

from pathlib import Path

import synthetic

from netlab import study as studies
from netlab.analysis.cells import CELL_COLUMNS
from netlab.analysis.compare import FIGURES
from netlab.results.columns import TABLES
from netlab.study.factors import RESERVED
from netlab.study.frame_columns import COLUMNS


def test_every_column_of_records_cells_and_comparisons_is_refused():
    columns = {column.name for table in TABLES.values() for column in table}
    assert columns | {*CELL_COLUMNS, *FIGURES} <= COLUMNS | RESERVED


def test_a_measured_study_with_such_a_factor_can_still_be_read(tmp_path: Path):
    """Its results are there, whatever a later netlab refuses."""
    stored = tmp_path / "study.yml"
    stored.write_text(f"{synthetic.FOREIGN}\nouter: {{bottleneck: [a, b]}}\n")
    assert studies.load_stored(stored).outer == {"bottleneck": ("a", "b")}
