"""Tables that fit."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from otel_runlog.show.table import Cell, Column, Fit, cut, lay_out

COLUMNS = (
    Column("ID"),
    Column("NAME", fit=Fit.SHORTEN, least=6),
    Column("TOKENS", right=True, rank=1),
    Column("COST", right=True),
)
ROWS = [
    [Cell("a1"), Cell("a name that is long"), Cell("12,345"), Cell("$0.01")],
    [Cell("b2"), Cell("漢字"), Cell("7"), Cell()],
]


def lines(width):
    return ["".join(cell.text for cell in line) for line in lay_out(COLUMNS, ROWS, width).lines]


def test_without_a_width_every_text_is_whole():
    assert lines(None) == [
        "ID  NAME                 TOKENS   COST",
        "a1  a name that is long  12,345  $0.01",
        "b2  漢字                      7",
    ]


def test_texts_are_shortened_and_numbers_are_not():
    assert lines(30) == [
        "ID  NAME         TOKENS   COST",
        "a1  a name tha…  12,345  $0.01",
        "b2  漢字              7",
    ]


def test_a_column_goes_where_the_shortest_texts_do_not_fit():
    laid = lay_out(COLUMNS, ROWS, 20)
    assert laid.left_out == ["TOKENS"]
    assert lines(20)[1] == "a1  a name t…  $0.01"


texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z", "M")), max_size=30)


@given(st.lists(st.tuples(texts, texts), max_size=5), st.integers(12, 60))
def test_every_line_fits(pairs, width):
    columns = (Column("A", fit=Fit.SHORTEN, least=3), Column("B", fit=Fit.SHORTEN, least=3, rank=1))
    laid = lay_out(columns, [[Cell(a), Cell(b)] for a, b in pairs], width)
    assert all(sum(cell_len(cell.text) for cell in line) <= width for line in laid.lines)


@given(texts, texts, st.integers(0, 70))
def test_a_line_is_cut_to_its_width(a, b, width):
    kept = cut([Cell(a, "dim"), Cell(b)], width)
    assert sum(cell_len(cell.text) for cell in kept) <= max(width, 0)
    if cell_len(a + b) <= width:
        assert kept == (Cell(a, "dim"), Cell(b))
