"""Tables that a spreadsheet opens without running anything."""

import csv
import io

import pytest

from attn_core.spreadsheet import harmless, table_csv


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "＋1", "－1", "＠x", "\u200b=1", "\t1"],
)
def test_text_that_may_be_a_formula_gets_an_apostrophe(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize("cell", ["2: 学生", "What is −1?", "", "a=b", -0.5, 3])
def test_other_text_and_numbers_stay(cell):
    assert harmless(cell) == cell


def test_the_table_reads_back_and_opens_in_excel():
    data = table_csv(("問題", "given"), [('=HYPERLINK("x")', -0.5), ("a, b\nc", 3.0)])
    assert data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert rows == [["問題", "given"], ['\'=HYPERLINK("x")', "-0.5"], ["a, b\nc", "3.0"]]
