"""Tables as HTML, text, CSV and LaTeX."""

import csv
import io
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from netlab.errors import BadInput
from netlab.files.tables import Table, latex_escape

PLAIN = pd.DataFrame({"name": ["a & b", "<c>"], "rate_MBps": [1.25, float("nan")]})


class _Tags(HTMLParser):
    """Counts tags and checks that they close."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def _cells(table):
    parser = _Tags()
    parser.feed(re.sub(r"<template.*?</template>", "", table._repr_html_(), flags=re.DOTALL))
    assert parser.open == []
    return parser.text


def test_html_has_caption_heads_and_escaped_cells_if_any():
    table = Table(PLAIN, "Rates <2003>", heads={"rate_MBps": "MB/s"}, formats={"rate_MBps": ".1f"})
    assert _cells(table) == ["Rates <2003>", "name", "MB/s", "a & b", "1.2", "<c>", "–"]
    assert _cells(Table(PLAIN, "c", note="as <printed>"))[-1] == "as <printed>"
    assert "<caption" in table._repr_html_() and "&lt;c&gt;" in table._repr_html_()
    empty = Table(PLAIN.iloc[:0], "none found")
    assert _cells(empty) == ["none found", "name", "rate_MBps"]
    assert r"\begin{tabular}{lr}" in empty.to_latex()


def test_one_format_may_serve_all_columns_and_spares_text_and_a_function_may_format():
    assert "A & B" in _cells(Table(PLAIN, "c", formats={"name": str.upper}))
    assert _cells(Table(PLAIN, "c", formats=".3f"))[3:] == ["a & b", "1.250", "<c>", "–"]


def test_a_large_number_of_few_digits_has_no_exponent():
    large = pd.DataFrame({"a": [12_345.6], "b": [2_500_000.0]})
    assert _cells(Table(large, "c", formats={"a": ".4g"}))[-2:] == ["12350", "2500000"]


def test_every_row_has_all_its_heads_in_html_and_repeated_ones_once_in_latex():
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["k", "n"])
    table = Table(pd.DataFrame({"v": [1, 2, 3]}, index=index), "c")
    text = _cells(table)
    assert text.count("a") == 2 and text.count("1") == 3
    assert text[1:4] == ["k", "n", "v"]
    assert table.to_latex().count("a & ") == 1


def test_a_head_without_a_text_is_no_head():
    index = pd.Index(["x", "y"])
    html = Table(pd.DataFrame({"v": [1, 2]}, index=index), "c")._repr_html_()
    assert "<thead><tr><td" in html and html.count('scope="col"') == 1


def test_cells_link_to_addresses_and_text_gives_its_numbers_as_csv():
    frame = pd.DataFrame({"v": ["1 ± 2", "–"]})
    links = pd.DataFrame({"v": ["a.html#<x>", ""]})
    table = Table(frame, "c", links=links, data=pd.DataFrame({"v": [1.5], "half": [2.0]}))
    html = table._repr_html_()
    assert '<a href="a.html#&lt;x&gt;">1 ± 2</a>' in html and html.count("<a ") == 1
    assert '<template class="netlab-csv" data-name="c">v,half\n1.5,2.0\n</template>' in html


def test_marked_cells_are_bold_in_html_and_latex():
    frame = pd.DataFrame({"v": [1, 9]})
    table = Table(frame, "c", bold=frame == frame.max())
    assert table._repr_html_().count("<strong>9</strong>") == 1
    assert r"\textbf{9}" in table.to_latex()
    assert "<strong>1" not in table._repr_html_()


@pytest.mark.parametrize("caption", ["", "  "])
def test_a_table_without_caption_or_with_marks_of_another_shape_is_refused(caption):
    with pytest.raises(BadInput, match="caption"):
        Table(PLAIN, caption)
    with pytest.raises(BadInput, match="shape"):
        Table(PLAIN, "c", bold=pd.DataFrame({"v": [True]}))


def test_csv_holds_the_unrounded_data_with_flat_heads_and_is_exported_beside_latex(tmp_path):
    path = Table(PLAIN, "c", formats=".0f").to_csv(tmp_path / "new" / "t.csv")
    pd.testing.assert_frame_equal(pd.read_csv(path), PLAIN)
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_product([["x"], ["1", "2"]]))
    path = Table(frame, "c").to_csv(tmp_path / "t.csv")
    assert path.read_text() == "x 1,x 2\n1,2\n"
    csv, tex = Table(PLAIN, "c").export(tmp_path / "table.2")
    assert (csv.name, tex.name) == ("table.2.csv", "table.2.tex")
    assert csv.is_file() and tex.is_file()


@pytest.mark.parametrize("text", ["=1+1", "+1-1", "-a", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_of_csv_is_a_formula_to_a_spreadsheet(text):
    index = pd.MultiIndex.from_tuples([(text, 1)], names=[text, "n"])
    frame = pd.DataFrame({text: [text], "rate": [-1.5], "printed": ["-1.5"]}, index=index)
    read = list(csv.reader(io.StringIO(Table(frame, "Groups").csv_text(), newline="")))
    quoted = "'" + text.replace("\r", " ")
    assert read[0] == [quoted, "n", quoted, "rate", "printed"]
    assert read[1] == [quoted, "1", quoted, "-1.5", "-1.5"]


def test_latex_is_a_booktabs_table_with_everything_escaped(tmp_path):
    table = Table(PLAIN, "50% & more_of $it", note="a#b")
    text = table.to_latex(tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text() == text
    assert r"\caption{50\% \& more\_of \$it}" in text
    assert r"name & rate\_MBps \\" in text
    assert r"a \& b & 1.25 \\" in text
    assert r"\textless{}c\textgreater{} & – \\" not in text
    assert r"\textless{}c\textgreater{} & -- \\" in text
    assert r"\footnotesize a\#b" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert latex_escape(r"\input{x}~^") == (
        r"\textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}"
    )
    laws = pd.DataFrame({"law": [1], "law ": [2]})
    assert "law & law" in Table(laws, "c", heads={"law ": "law"}).to_latex(), "equal heads stay"


def test_long_text_wraps_in_latex_and_a_long_table_breaks_over_pages():
    frame = pd.DataFrame({"short": ["a"], "long": ["word " * 20], "n": [1], "why": ["x" * 80]})
    text = Table(frame, "c").to_latex()
    assert re.search(r"begin\{tabular\}\{lp\{5\.\dcm\}rp\{5\.\dcm\}\}", text)
    text = Table(pd.DataFrame({"n": range(100)}), "c", note="below").to_latex()
    assert text.startswith("\\begin{longtable}{r}\n\\caption{c} \\\\\n\\toprule")
    assert text.index("\\endhead") < text.index("0 ") < text.index("\\end{longtable}")
    assert text.rstrip().endswith("below}")


def test_column_levels_span_columns():
    frame = pd.DataFrame(
        [[1, 2, 3]],
        index=pd.MultiIndex.from_tuples([("a", "b")], names=["k", "n"]),
        columns=pd.MultiIndex.from_tuples([("x", "1"), ("x", "2"), ("y", "1")]),
    )
    html = Table(frame, "c")._repr_html_()
    assert 'scope="colgroup" colspan="2"' in html and html.count("<tr>") == 3
    heads = Table(frame, "c").to_latex().split("\\toprule\n")[1].split("\\midrule")[0]
    assert " ".join(heads.split()) == ("& & \\multicolumn{2}{c}{x} & y \\\\ k & n & 1 & 2 & 1 \\\\")


def test_as_text_a_table_has_what_its_page_has_with_names_as_they_are_typed():
    frame = pd.DataFrame({"path": ["a -> b", "b"], "rate_MBps": [1.254, float("nan")]})
    labels = {"rate_MBps": "goodput, MB/s"}
    table = Table(
        frame, "Rates <-> paths", labels, {"rate_MBps": ".1f"}, "○: disturbed -> left out"
    )
    expected = [
        "Rates <-> paths",
        "path    goodput, MB/s",
        "a -> b            1.3",
        "b                   –",
        "○: disturbed -> left out",
    ]
    assert repr(table).splitlines() == expected
    options = ("display.float_format", "{:.4f}!".format, "display.max_colwidth", 3)
    with pd.option_context(*options, "display.max_rows", 1):
        assert repr(table).splitlines() == expected


def test_as_text_labels_stand_before_the_cells_and_a_terminal_gets_no_control_character():
    index = pd.MultiIndex.from_tuples([("full", 1500), ("full", 9000)], names=["tuning", "MTU, B"])
    frame = pd.DataFrame({"host": ["a\x1b[31m\nb", "○\N{NO-BREAK SPACE}7"]}, index=index)
    assert repr(Table(frame, "Hosts\x07")).splitlines() == [
        "Hosts\\x07",
        "tuning  MTU, B  host",
        "full    1500    a\\x1b[31m\\nb",
        "        9000    ○ 7",
    ]
