"""Several results against one reference, as one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from netlab.analysis.cell_texts import MISSING
from netlab.analysis.compare import FIGURES, VERDICTS, side_name
from netlab.analysis.sides import SidesCompared
from netlab.analysis.trust import counted
from netlab.files.tables import Sentence, Table, table_or
from netlab.report.compare import (
    HEADS,
    as_frame,
    as_json,
    columns_of_a_group,
    effect,
    every_cell,
    in_words,
    naming_columns,
    shift_sentence,
    sides,
)
from netlab.report.tables import Tables

NO_DIFFERENCE_OF_ALL = "Of all recorded conditions only the goodput differs from the reference's."


def letters(every: Sequence[SidesCompared]) -> list[str]:
    """Names of the sides after the reference A, which may be more than an alphabet has."""
    return [side_name(place) for place in range(1, len(every) + 1)]


def all_sides(every: Sequence[SidesCompared]) -> Table:
    """The reference and each of the others, with its effect over all cells and its verdicts."""
    reference = sides(every[0]).frame.iloc[:1]
    others = [sides(one).frame.iloc[1:] for one in every]
    frame = pd.concat([reference, *others], ignore_index=True)
    frame["side"] = ["A", *letters(every)]
    frame["against A, %"] = ["", *(effect(one.compared.overall) for one in every)]
    for word in VERDICTS:
        frame[word] = [MISSING, *(str(one.compared.count(word)) for one in every)]
    # the answer before the circumstances, which a narrow page may cut
    answer = ["side", "results", "against A, %", *VERDICTS]
    frame = frame[[*answer, *frame.columns.difference(answer, sort=False)]]
    return Table(frame, "Compared: each against A", note=method_of_all(every).text)


def method_of_all(every: Sequence[SidesCompared]) -> Sentence:
    found = every[0].compared
    parts = [
        f"One family of {counted(found.family, 'cell')} of {len(every)} comparisons: their "
        f"intervals hold at once at {100 * found.level:.4g} % (Bonferroni), and Holm's test of all "
        f"ratios decides faster and slower at {100 * (1 - found.level):.4g} %.",
        "Against A, %: geometric mean over the common cells; its interval stands for itself.",
    ]
    if found.between:
        parts.append(shift_sentence(found))
    return Sentence(" ".join(parts))


def statement_of_all(every: Sequence[SidesCompared]) -> Sentence:
    words = (
        f"{name} ({one.b.label}): {effect(one.compared.overall)}"
        for name, one in zip(letters(every), every, strict=True)
    )
    return Sentence(f"Against A ({every[0].a.label}), geometric means: {'; '.join(words)}.")


def frame_of_all(every: Sequence[SidesCompared]) -> pd.DataFrame:
    """Cells of all comparisons as :func:`as_frame` has them, after the name of their side."""
    parts = []
    for name, one in zip(letters(every), every, strict=True):
        part = as_frame(one)
        part["verdict"] = part["verdict"].replace("only in B", f"only in {name}")
        part.insert(0, "results", one.b.label)
        part.insert(0, "side", name)
        parts.append(part)
    keys = dict.fromkeys(key for one in every for key in one.compared.keys)
    frame = pd.concat(parts, ignore_index=True)
    return frame[["side", "results", *keys, *FIGURES]]


def cells_of_all(every: Sequence[SidesCompared]) -> Table:
    """Every cell of every comparison, the sides of a cell below each other."""
    keys = list(dict.fromkeys(key for one in every for key in one.compared.keys))
    frames = (
        one.compared.frame.assign(side=name)
        for name, one in zip(letters(every), every, strict=True)
    )
    frame = pd.concat(frames, ignore_index=True)
    several = naming_columns(frame, keys)
    frame = frame.sort_values([*several, "side"], ignore_index=True, key=_sortable)
    shown = in_words(frame[[*several, "side"]])
    between = " between campaigns" if every[0].compared.between else ""
    table = every_cell(shown, frame, "Cell by cell", method_of_all(every).text, between)
    renamed = {"B against A, %": "against A, %", "B, MB/s": "MB/s"}
    return replace(table, frame=table.frame.rename(columns=renamed))


def _sortable(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column) else column.astype(str)


def differences_of_all(every: Sequence[SidesCompared]) -> Table | Sentence:
    """Recorded conditions in which a side differs from the reference, a column a side."""
    columns: dict[str, dict[str, str]] = {name: {} for name in ("A", *letters(every))}
    for name, one in zip(letters(every), every, strict=True):
        for row in pd.concat([one.compared.apart, one.differences]).to_dict("records"):
            columns["A"][row["item"]] = row["a"]
            columns[name][row["item"]] = row["b"]
    frame = pd.DataFrame(columns, dtype=object).fillna("as A").rename_axis("item").reset_index()
    return table_or(NO_DIFFERENCE_OF_ALL, frame, "What differs besides goodput", {"item": ""})


def only_of_all(every: Sequence[SidesCompared]) -> Table | Sentence:
    frame = pd.concat(
        [
            one.compared.only.replace({"side": {"B": name}}).assign(compared=f"{name} with A")
            for name, one in zip(letters(every), every, strict=True)
        ],
        ignore_index=True,
    )
    heads = {**HEADS, "side": "only", "reason": "on the other side"}
    shown = in_words(frame.drop(columns=columns_of_a_group(frame, list(frame))))
    caption = "Cells of one side only"
    return table_or("All sides have every cell.", shown, caption, heads, data=frame)


def tables_of_all(every: Sequence[SidesCompared]) -> Tables:
    made = (all_sides, differences_of_all, statement_of_all, cells_of_all, only_of_all)
    return Tables(tuple(make(every) for make in made))


def json_of_all(every: Sequence[SidesCompared]) -> dict:
    """Each comparison as :func:`as_json` has it, below the name of its side."""
    return {
        "netlab_comparisons": 1,
        "family": every[0].compared.family,
        "comparisons": {
            name: as_json(one) for name, one in zip(letters(every), every, strict=True)
        },
    }
