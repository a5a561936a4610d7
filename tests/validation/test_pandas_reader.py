"""Why text is not read by pandas: the table of the page is what both readers make of the cells."""

from reference import ROOT

from validation import pandas_reader


def test_the_page_has_what_both_make_of_the_cells(capsys):
    pandas_reader.main()
    page = (ROOT / "docs/how-to/real-graphs.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out in page
