"""Files and data frames as columns: which mark is the decimal point, what columns are called, what is no table."""

import contextlib
import gzip
import itertools
import sys
import time
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gcnlimit as gl
from gcnlimit import real
from gcnlimit.graphs.columns import numbers_of
from gcnlimit.graphs.table_files import _named, short


@pytest.fixture
def read(tmp_path):
    """Data set of two tables as text."""

    def reader(edges, nodes=None, **options):
        (tmp_path / "e.csv").write_text(edges)
        if nodes is None:
            return real.read(tmp_path / "e.csv", **options)
        (tmp_path / "n.csv").write_text(nodes)
        return real.read(tmp_path / "e.csv", tmp_path / "n.csv", **options)

    return reader


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_table_has_one_decimal_mark(read, mark):
    """1.200 is twelve hundred where another cell has a decimal comma, and 1.2 where one has a decimal point."""
    edges = "source,target\na,b\nb,c\nc,a\n"
    table = "id;size;share\na;1.200;{0}\nb;900;{0}\nc;-;{0}\n".replace(";", mark)
    german = read(edges, table.format("0,5"))
    assert german.X[:, 0].tolist() == [1200.0, 900.0, 1050.0]
    assert german.X[:, 1].tolist() == [0.5] * 3
    assert "Read as numbers: size (thousands separators)." in german.notes
    assert read(edges, table.format("0.5")).X[:2, 0].tolist() == [1.2, 900.0]


@pytest.mark.parametrize(
    "text, edges",
    [("amy,bob\n1,2\n", 1), ("amy,bob\n1,2\n2,3\n", 2), ("1,2\n", 1), ("amy,bob\n", 1)],
)
def test_words_above_numbers_are_names_of_columns_however_few_rows_there_are(tmp_path, text, edges):
    (tmp_path / "edges.csv").write_text(text)
    data = gl.real.read(tmp_path / "edges.csv")
    assert data.graph.nnz == edges
    assert ("amy" in data.names) == (text == "amy,bob\n")


def test_numbers_of_a_data_frame_are_as_they_are():
    """The decimal mark is that of its words: a float of three decimals is no thousand."""
    edges = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
    words = pd.DataFrame(
        {"id": ["x", "y", "z"], "v": ["0,5", "1,5", None], "w": ["1.200", "9", "2"]}
    )
    nodes = words.assign(u=[1.234, np.nan, 9.0])
    assert real.read(edges, nodes).X[:, :3].tolist() == [
        [0.5, 1200.0, 1.234],
        [1.5, 9.0, 5.117],
        [1.0, 2.0, 9.0],
    ]


def test_semicolons_prefer_decimal_commas_where_nothing_tells(read):
    edges = "source;target;weight\na;b;1.200\nb;c;2,500\n"
    assert read(edges).graph.data.tolist() == [1200.0, 2.5]
    edges = "source;target;weight\na;b;1.250\nb;c;2.5\n"
    assert read(edges).graph.data.tolist() == [1.25, 2.5]


def test_columns_called_source_and_target_are_the_ends(read):
    usual = read("source,target,weight\na,b,2\nb,c,3\n")
    for edges in ("weight,Target,Source\n2,b,a\n3,c,b\n", "from,weight,to\na,2,b\nb,3,c\n"):
        assert np.array_equal(read(edges).graph.toarray(), usual.graph.toarray())
    gephi = read("Id,Source,Target,Type,Weight\n0,a,b,Undirected,2\n1,b,c,Undirected,3\n")
    assert np.array_equal(gephi.graph.toarray(), usual.graph.toarray())
    assert any(
        "2 columns of" in note and note.endswith(": Id, Type (an edge has two ends and a weight).")
        for note in gephi.notes
    )
    with pytest.raises(gl.ParameterError, match="--drop Type"):
        read("Id,Source,Target,Type\n0,a,b,Undirected\n")
    for edges in ("weight,a,b\n2,1,2\n3,2,1\n", "a,W,b\n1,2,2\n2,3,1\n"):
        assert read(edges, "id,label\n1,x\n2,y\n3,x\n").graph.toarray()[:2, :2].tolist() == [
            [0, 2],
            [3, 0],
        ]


def test_numbers_of_edges_are_neither_ends_nor_weights(read):
    """Those of the first row are nodes too; names such as from_node say which columns are the ends."""
    nodes = "id,label\n1,x\n2,y\n3,x\n"
    usual = read("source,target\n2,1\n3,2\n1,3\n", nodes).graph.toarray()
    weighted = read("source,target,weight\n2,1,5\n3,2,6\n1,3,7\n", nodes).graph.toarray()
    for head in (
        "edge_id,from_node,to_node",
        "trip_id,from_stop,to_stop",
        "id,one,other",
        "Nr,source_id,TargetID",
        "No,a,b",
    ):
        numbered = read(f"{head}\n1,2,1\n2,3,2\n3,1,3\n", nodes)
        assert np.array_equal(numbered.graph.toarray(), usual), head
        assert f"{head.split(',')[0]} (an edge has two ends" in numbered.notes[0]
        weights = read(f"{head},n\n1,2,1,5\n2,3,2,6\n3,1,3,7\n", nodes)
        assert np.array_equal(weights.graph.toarray(), weighted), head
    for plain in ("id,friend\n2,1\n3,2\n1,3\n", "weight,id,nearest\n1,2,1\n1,3,2\n1,1,3\n"):
        assert np.array_equal(read(plain, nodes).graph.toarray(), usual), plain
    flows = "source_ip,source_port,dst_ip,dst_port\n2,80,1,443\n3,80,2,443\n1,80,3,443\n"
    assert np.array_equal(
        read(flows, nodes, drop=["source_port", "dst_port"]).graph.toarray(), usual
    )
    times = "one,other,from_day,to_day\n2,1,2nd,3rd\n3,2,4th,5th\n1,3,5th,6th\n"  # no nodes
    with pytest.raises(
        gl.ParameterError, match="has 4 columns, one, other, from_day, to_day; keep"
    ):
        read(times, nodes)
    count = "from,to,no\n2,1,5\n3,2,6\n1,3,7\n"  # of trips, unless it stands first
    assert np.array_equal(read(count, nodes).graph.toarray(), weighted)


def test_the_column_to_drop_is_the_one_that_names_no_nodes(read):
    """Not the third one, whose cells are nodes where a word or a number of the edge comes first."""
    nodes = "id,label\na,x\nb,y\nc,x\n"
    with pytest.raises(gl.ParameterError, match="leave out the extra column by --drop kind"):
        read("kind,von,nach\np,a,b\nq,b,c\np,c,a\n", nodes)
    data = read("number,von,nach\n7,a,b\n8,b,c\n9,c,a\n", nodes)
    assert data.nodes == 3
    assert any(note.startswith("Column 'number' holds the weights") for note in data.notes)
    assert read("number,von,nach\n7,a,b\n8,b,c\n", nodes, drop="number").nodes == 3


def test_a_node_in_two_rows_may_mean_another_column(read):
    edges = "source,target\nx,y\ny,z\n"
    with pytest.raises(gl.ParameterError, match=r"'h' 2 times; give each one row, or .* --id gene"):
        read(edges, "species,gene,label\nh,x,1\nh,y,0\nm,z,1\n")
    with pytest.raises(
        gl.ParameterError, match=r"names 1 of the 3 .* another column by --id COLUMN"
    ):
        read(edges, "gene,label\nx,1\nq,0\n")


def test_columns_of_data_frames(read):
    edges = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
    nodes = pd.DataFrame({"id": ["x", "y", "z"], "v": [1.0, 2.0, 3.0], "label": ["p", "q", "p"]})
    plain = real.read(edges, nodes)
    levels = nodes.copy()
    levels.columns = pd.MultiIndex.from_tuples([("id", ""), ("expression", "v"), ("", "label")])
    assert np.array_equal(real.read(edges, levels).X, plain.X)
    assert real.read(edges, levels).y.tolist() == plain.y.tolist()
    assert real.read(edges, levels, drop="expression v").X is None
    ends = real.read(edges.set_index(["a", "b"]), nodes)  # all of it is in the index
    assert np.array_equal(ends.graph.toarray(), plain.graph.toarray())
    twice = nodes.rename(columns={"label": "v"})
    with pytest.raises(gl.ParameterError, match="the table of nodes has two columns called 'v'"):
        real.read(edges, twice)
    lists = nodes.assign(v=[[1, 2], [3, 4], [5, 6]])
    assert real.read(edges, lists).X.tolist() == lists["v"].tolist()
    with pytest.raises(gl.ParameterError, match="the table of nodes has no rows"):
        real.read(edges, nodes[:0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([(0, 1)], "it must name a file or be a data frame"),
        ("graph.gml", "or give what pandas or NetworkX read from it"),
        ("absent.csv", "'absent.csv' cannot be read as a table: No such file or directory"),
    ],
)
def test_what_is_no_table_is_told_where_it_goes(given, words):
    with pytest.raises(gl.ParameterError) as error:
        real.read(given)
    assert words in str(error.value)


@pytest.mark.parametrize("cell", [10**400, "1e400", "\u0663%", "\u00bd", 1 + 2j, b"z", {"a": 1}])
def test_cells_that_are_hardly_numbers_are_words_or_refused(cell):
    edges = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
    nodes = pd.DataFrame({"id": ["x", "y", "z"], "v": [cell, "w", cell]}, dtype=object)
    with contextlib.suppress(gl.ParameterError):
        assert real.read(edges, nodes).X.tolist() in (
            [[1, 0], [0, 1], [1, 0]],
            [[0, 1], [1, 0], [0, 1]],
        )
    with contextlib.suppress(gl.ParameterError):
        assert (
            real.read(edges, nodes.assign(v=pd.Series([cell] * 3, dtype=object))).X.tolist()
            == [[1.0]] * 3
        )


def test_a_graph_of_another_package_is_told_where_it_goes():
    with pytest.raises(
        gl.ParameterError, match=r"graph is dict; it must be a matrix .*gcnlimit.real"
    ):
        gl.GraphClassifier().fit(np.eye(3), [0, 1, -1], graph={0: [1], 1: [2]})


@pytest.mark.parametrize("rows", [1, 2, 3, 4096])
def test_blank_lines_are_no_rows_however_many_follow_each_other(read, monkeypatch, rows):
    """Rows are split a few thousand at a time, of which all may be blank."""
    monkeypatch.setattr("gcnlimit.graphs.table_files._ROWS", rows)
    text = "source,target\na,b\n\n , \n,\n\n\nb,c\nc,d\n\n"
    again = read("source,target\na,b\nb,c\nc,d\n")
    assert read(text).graph.shape == (4, 4)
    assert (read(text).graph != again.graph).nnz == 0


EDGES = "source,target\na,b\nb,c\nc,d\nd,e\n"


def test_lines_are_looked_at_once_and_cells_stay_as_they_are(read):
    """A rule that ends in a word takes no longer for each dash; empty lines in quotes are no rows, at the head either."""
    for line in ("-" * 10**5, f"1 row{' ' * 10**5}"):
        assert f"{line}x" in read(f"a,b\n{line}x,b\nb,c\n").names
    cell = '"p\n\nq"'
    names = read(f"{cell},b\n" + "b,c\n" * 20 + f"{cell},c\n").names.tolist()
    assert names == ["b", "c", "p\n\nq"]
    with pytest.raises(gl.ParameterError, match="has 1 column"):  # however long it is
        read("a\n" * 1000 + "b,c\n")


@pytest.mark.parametrize(
    "cells, marked",
    [
        (["1", "2", "-999", "3", "-999"], "v (-999, 2 times)"),
        (["1", "9999", "2,5", "9999", "3"], "v (9999, 2 times)"),
        (["18", "-1", "80", "35", "-1"], "v (-1, 2 times)"),
        (["18", "-99", "", "80", "-99", "35"], "v (-99, 2 times)"),
        (["1", "2", "-999", "3", "4"], ""),  # once: it may be what it is
        (["0", "0", "9", "9.5", "10"], ""),  # counts are often 0
        (["0", "1", "1", "0", "1"], ""),
        (["-1", "-1", "-2", "3", "4"], ""),
    ],
)
def test_a_number_that_may_stand_for_a_missing_one_is_noted_and_kept(read, cells, marked):
    text = "id;v\n" + "".join(
        f"{name};{cell}\n" for name, cell in zip("abcdef", cells, strict=False)
    )
    data = read(EDGES, text)
    note = [note for note in data.notes if "may stand for a missing one" in note]
    assert [marked in told for told in note] == [True] * bool(marked)
    kept = [float(cell.replace(",", ".")) for cell in cells if cell]
    assert set(kept) <= set(data.X[:, 0].tolist())


def test_cells_that_rows_lack_at_their_end_are_empty_and_noted(read):
    whole = read(EDGES, "id,v,label\na,1,x\nb,2,\nc,3,y\nd,4,\ne,5,x\n")
    cut = read(EDGES, "id,v,label\na,1,x\nb,2\nc,3,y\nd,4\ne,5,x,,\n")
    assert cut.y.tolist() == whole.y.tolist()
    assert (cut.X == whole.X).all()
    assert cut.notes[0].startswith("Cells at the end of 2 rows of")
    assert cut.notes[1:] == whole.notes


@pytest.mark.parametrize(
    "nodes", ["id,v\na,1,3\nb,2\n", 'id,v,label\na,1,x\nb,"2,y\nc,3,x\nd,4,y\n']
)
def test_rows_of_too_many_cells_and_quotes_that_do_not_end_are_refused(read, nodes):
    with pytest.raises(gl.ParameterError, match=r"its row that begins with '[ab]' has"):
        read(EDGES, nodes)


def test_a_range_of_numbers_is_a_word_and_truth_has_one_spelling(read):
    """Python takes 10_20 for a thousand and twenty, and no other program does."""
    ages = read(EDGES, "id,age\na,10_20\nb,20_30\nc,10_20\nd,20_30\ne,10_20\n")
    assert ages.X.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    truth = read(EDGES, "id,v\na,TRUE\nb,False\nc,true\nd,FALSE\ne,True\n")
    assert truth.X.tolist() == [[0, 1], [1, 0], [0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("mark", [".", "--", "missing", "#NA", "-nan", "-1.#IND", "N/A"])
def test_marks_of_other_programs_are_missing_numbers(read, mark):
    data = read(EDGES, f"id,v\na,1\nb,2\nc,{mark}\nd,4\ne,5\n")
    assert data.X[2].tolist() == [3.0, 1.0]


def test_frames_of_other_packages_are_read_as_those_of_pandas():
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    nodes = pd.DataFrame({"id": ["a", "b", "c"], "v": [1.0, None, 3.0], "label": ["x", "y", None]})

    class Frame:
        """As of polars or Arrow: names of columns, and a way to pandas."""

        def __init__(self, frame, way=True):
            self.columns = list(frame.columns)
            if way:
                self.to_pandas = lambda: frame

    read, same = real.read(Frame(edges), Frame(nodes)), real.read(edges, nodes)
    assert (read.X == same.X).all()
    assert read.notes == same.notes
    with pytest.raises(gl.ParameterError, match=r"the table of edges is a Frame .* CSV"):
        real.read(Frame(edges, way=False))


def book_of(path, monkeypatch, **sheets):
    """A spreadsheet as openpyxl opens it: rows of values under the titles of sheets."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "")

    def sheet(title, rows):
        return SimpleNamespace(
            title=title, reset_dimensions=lambda: None, iter_rows=lambda **_: iter(rows)
        )

    opened = SimpleNamespace(worksheets=[sheet(*one) for one in sheets.items()])
    reader = SimpleNamespace(load_workbook=lambda *_, **__: opened)
    monkeypatch.setitem(sys.modules, "openpyxl", reader)
    return path


def test_sheets_called_nodes_and_edges_are_read_as_such(tmp_path, monkeypatch):
    sheets = {
        " Nodes": [("id", "label", "size"), (None, None), ("a", "x", 3.0), ("b", "y", None)],
        "other": [("?",)],
        "Edges": [("source", "target"), ("a", "b", None)],
    }
    path = book_of(tmp_path / "both.xlsx", monkeypatch, **sheets)
    data = real.read(path, path)
    assert data.y.tolist() == ["x", "y"]
    assert data.X.tolist() == [[3.0, 0.0], [3.0, 1.0]]
    assert data.notes[0].startswith("Read the sheet ' Nodes' of")


@pytest.mark.parametrize(
    "rows, sentence",
    [
        (itertools.repeat((), 2 * 10**6), "has cells beyond row 1048576 or column XFD; delete"),
        ([("a",) * 16_385], "has cells beyond row 1048576 or column XFD; delete what stands far"),
        (
            itertools.repeat(("a",) * 16_384),
            r"needs about 0\.05.* GB of memory.* far from the table",
        ),
        (itertools.repeat(("a" * 10**6,)), "needs about 0.08 GB of memory.* far from the table"),
    ],
)
def test_a_spreadsheet_is_read_no_further_than_memory_allows(tmp_path, monkeypatch, rows, sentence):
    """However its file says where a cell is, and however often one long text is shared."""
    path = book_of(tmp_path / "e.xlsx", monkeypatch, edges=rows)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.05")
    with pytest.raises(gl.ParameterError, match=sentence):
        real.read(path)


@pytest.mark.parametrize("name", ["n.parquet", "n.xls"])
def test_files_that_are_no_text_are_told_to_be_saved_as_such(tmp_path, name):
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / name).write_bytes(b"PAR1\x00\xff\x81\x8d\x8f")
    with pytest.raises(gl.ParameterError, match=r"save it as CSV, or name its encoding"):
        real.read(tmp_path / "e.csv", tmp_path / name)
    with pytest.raises(gl.ParameterError, match=r"give what pandas or NetworkX read from it"):
        real.read(tmp_path / name)


NODES = pd.DataFrame({"id": range(6), "label": list("xyxyxy"), "age": [3, 1, 4, 1, 5, 9]})
LINKS = pd.DataFrame({"source": range(6), "target": [1, 2, 3, 4, 5, 0]})


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_row_numbers_are_left_out_however_often_pandas_saved_them(tmp_path, sampled, times):
    """Also where rows were drawn or sorted before, and where they are the names of the nodes at once."""
    for name, frame in (("n", NODES), ("e", LINKS)):
        path = tmp_path / f"{name}.csv"
        saved = frame.sample(frac=1.0, random_state=1) if sampled else frame
        for _ in range(times):
            saved.to_csv(path)
            saved = pd.read_csv(path)
    data = real.read(tmp_path / "e.csv", tmp_path / "n.csv")
    order = data.names.astype(int)
    assert data.X.ravel().tolist() == NODES["age"][order].tolist()
    assert (
        data.graph.toarray()[np.argsort(order)][:, np.argsort(order)].tolist()
        == np.roll(np.eye(6), 1, axis=1).tolist()
    )
    assert sum(note.startswith("Left out the numbers of the rows") for note in data.notes) == 2


def test_the_index_names_the_nodes_of_a_frame_that_has_no_names():
    plain = real.read(LINKS, NODES)
    data = real.read(LINKS, NODES[["label", "age"]])
    assert data.names.tolist() == plain.names.tolist()
    assert np.array_equal(data.X, plain.X)
    twice = pd.concat([NODES, NODES[:1]], ignore_index=True)
    with pytest.raises(gl.ParameterError, match="names the node '0' 2 times"):
        real.read(LINKS, twice)


def test_a_column_called_id_names_the_nodes_wherever_it_stands():
    plain = real.read(LINKS, NODES)
    for columns in (["age", "id", "label"], ["label", "id", "age"]):
        data = real.read(LINKS, NODES[columns])
        assert data.names.tolist() == plain.names.tolist()
        assert np.array_equal(data.X, plain.X)


@pytest.mark.parametrize("title", ["Customers, 2023", "Customers", "Customers,,\nprinted 3 May,,"])
def test_titles_above_a_table_are_left_out_with_a_note(read, title):
    rows = "id,age,label\na,1,x\nb,2,y\nc,3,x\n"
    edges = "source,target\na,b\nb,c\n"
    title = f'"{title}"' if title.startswith("Customers, ") else title
    data = read(edges, f"{title}\n\n{rows}")
    assert data.X.ravel().tolist() == [1, 2, 3]
    assert any("above the names of the columns" in note for note in data.notes)
    assert read(edges, rows).notes == data.notes[:0] + tuple(
        note for note in data.notes if "above" not in note
    )


def test_letters_with_accents_are_the_same_in_one_piece_or_two(read):
    data = read("source,target\ne\u0301,a\n", "id,label\n\u00e9,x\na,y\n")
    assert data.names.tolist() == ["\u00e9", "a"]


def test_a_packed_table_is_known_by_its_content(tmp_path):
    text = b"source,target\na,b\n"
    (tmp_path / "packed.csv").write_bytes(gzip.compress(text))
    (tmp_path / "plain.csv.gz").write_bytes(text)
    for name in ("packed.csv", "plain.csv.gz"):
        assert real.read(tmp_path / name).names.tolist() == ["a", "b"]


def test_words_that_differ_at_each_node_are_no_classes(read):
    rows = "".join(f"n{k},Node {k},{k}\n" for k in range(30))
    edges = "".join(f"n{k},n{k + 1}\n" for k in range(29))
    with pytest.raises(
        gl.ParameterError, match="30 different words, such as Node 0; name one that"
    ):
        read(edges, f"id,label,age\n{rows}")


DRAWN = {
    "psql": " {} | {} | {}\n{rule}+{rule}+{rule}\n{body}({rows} rows)\n\n",
    "mysql": "{edge}| {} | {} | {} |\n{edge}{body}{edge}{rows} rows in set (0.00 sec)\n",
    "markdown": "| {} | {} | {} |\n|:---|---:|----|\n{body}",
    "sqlite": "{} {} {}\n{rule} {rule} {rule}\n{body}",
}


@pytest.mark.parametrize("program", DRAWN)
def test_tables_that_databases_draw_are_read_as_their_cells_are(read, program):
    """Lines between rows, and the number of rows below them, are no nodes."""
    cells = [["ann", "31", "x"], ["bob", "27", "y"], ["eve", "45", "x"]]
    mark = " " if program == "sqlite" else " | "
    rows = [mark.join(row) for row in cells]
    framed = [f"| {row} |" for row in rows] if program in ("mysql", "markdown") else rows
    drawn = DRAWN[program].format(
        *("id", "age", "label"),
        rule="-----",
        edge="+-----+-----+-------+\n",
        body="".join(f"{row}\n" for row in framed),
        rows=3,
    )
    edges = "source,target\nann,bob\nbob,eve\n"
    plain = read(edges, "id,age,label\n" + "".join(",".join(row) + "\n" for row in cells))
    data = read(edges, drawn)
    assert data.names.tolist() == plain.names.tolist() == ["ann", "bob", "eve"]
    assert data.X.tolist() == plain.X.tolist()
    assert data.y.tolist() == plain.y.tolist()


def test_row_numbers_of_r_need_no_name_above_them(read):
    """`write.table` of R names one column fewer than it writes; other rows too long are refused."""
    edges = '"from" "to"\n"1" "a" "b"\n"2" "b" "c"\n'
    nodes = '"id" "age"\n"1" "a" 12\n"2" "b" NA\n"3" "c" 5\n'
    data = read(edges, nodes)
    assert data.names.tolist() == ["a", "b", "c"]
    assert data.X[:, 0].tolist() == [12.0, 8.5, 5.0]
    with pytest.raises(gl.ParameterError, match="3 cells where the first has 2"):
        read("source,target\na,b,1\nb,c,2\n", nodes)


@pytest.mark.parametrize(
    "cells",
    [
        ['"0.1,0.2"', '"0.4,-5"', ""],
        ["[0.1 0.2]", "[0.4 -5]", "NA"],
        ['"(0.1, 0.2)"', '"(0.4, -5.0)"', "-"],
        ["0.1;0.2", "0.4;-5e0", "\\N"],
    ],
)
def test_lists_of_one_length_become_a_column_for_each_number(read, cells):
    rows = "".join(f"{name},{cell}\n" for name, cell in zip("abc", cells, strict=True))
    data = read("source,target\na,b\nb,c\n", f"id,v\n{rows}")
    np.testing.assert_allclose(data.X, [[0.1, 0.2, 0], [0.4, -5, 0], [0.25, -2.4, 1]])
    assert "Read as numbers: v (lists)." in data.notes
    listed = pd.DataFrame({"id": [*"abc"], "v": [[0.1, 0.2], [0.4, -5.0], None]})
    frame = real.read(pd.DataFrame({"source": [*"ab"], "target": [*"bc"]}), listed)
    np.testing.assert_allclose(frame.X, data.X)


@pytest.mark.parametrize(
    "first, second",
    [
        ("2023-12-31 10:00:00+00", "2024-01-02 12:00:00+02"),
        ("2023-12-31 10:00:00 UTC", "2024-01-02 10:00:00 UTC"),
        ("2023年12月31日", "2024年1月2日"),
        ("2023. 12. 31.", "2024. 1. 2."),
        ("31DEC2023", "02JAN2024"),
    ],
)
def test_dates_of_databases_and_other_countries_are_days(read, first, second):
    data = read("source,target\na,b\n", f"id,day\na,{first}\nb,{second}\n")
    assert data.X[:, 0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    "cells", ["3 janvier 2024|14 mai 2024", "31DEC2023:10:00:00|01JAN2024:11:00:00"]
)
def test_dates_in_words_that_are_not_known_are_refused_as_dates(read, cells):
    first, second = cells.split("|")
    with pytest.raises(gl.ParameterError, match="'day' holds dates or times, such as"):
        read("source,target\na,b\n", f"id,day\na,{first}\nb,{second}\n")


def test_spans_of_time_are_days():
    spans = pd.to_timedelta(["12:00:00", "2 days", None])
    nodes = pd.DataFrame({"id": [*"abc"], "span": spans})
    data = real.read(pd.DataFrame({"source": [*"ab"], "target": [*"bc"]}), nodes)
    assert data.X[:, 0].tolist() == [0.5, 2.0, 1.25]


def test_an_empty_second_column_is_no_reason_to_take_the_third_for_it():
    """Ends of edges are the first two columns; further ones that are empty are left out."""
    columns = _named([["1", "3"], ["", ""], ["2", "4"], ["", ""]], "edges.csv", {"source"})
    assert list(columns) == ["1", "2", "3"]
    assert columns["2"] == ["", ""]


DAMAGE = {
    "digits": "7" * 10**5 + "x",
    "thousands": "1" + ",111" * 25_000 + "x",
    "digits of other scripts": "\u0663" * 60_000,
}


@pytest.mark.parametrize("cell", DAMAGE.values(), ids=DAMAGE)
def test_a_long_cell_that_is_almost_a_number_is_read_at_once(cell):
    """Where a pattern can be matched in many ways, the time to find that it does not grows with their number."""
    began = time.process_time()
    assert numbers_of({cell, "1"}) == (None, "")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", ["id" * 50_000 + "x", "_" * 100_000 + "x", "a" + "_node" * 20_000])
def test_the_short_name_of_a_long_column_is_found_at_once(name):
    began = time.process_time()
    assert short(name) in (name, "a")
    assert time.process_time() - began < 5


def test_a_name_of_a_column_as_long_as_a_page_is_refused(tmp_path):
    (tmp_path / "e.csv").write_text(f"source,target,{'w' * 1001}\na,b,1\n")
    with pytest.raises(gl.ParameterError, match=r"a name of a column of 1001 letters; shorten it"):
        real.read(tmp_path / "e.csv")


def test_accents_without_end_are_refused_before_they_are_sorted(tmp_path):
    (tmp_path / "e.csv").write_text(
        f"source,target\na,e{chr(0x301) * 300_000}{chr(0x316) * 300_000}\n"
    )
    began = time.process_time()
    with pytest.raises(gl.ParameterError, match="has a hundred accents on one letter; remove them"):
        real.read(tmp_path / "e.csv")
    assert time.process_time() - began < 5
    words = "\u4e2d\u6587" * 300 + "e\u0301"  # no accents, and one
    (tmp_path / "e.csv").write_text(f"source,target\na,{words}\n")
    assert len(real.read(tmp_path / "e.csv").names[1]) == 601


@pytest.mark.parametrize("place", ["name", "class", "word"])
def test_one_long_cell_does_not_make_all_rows_as_long(tmp_path, monkeypatch, place):
    """In an array of text every entry takes as much memory as the longest."""
    n, longest = 2000, "w" * 10**5
    names = [f"v{k}" for k in range(n - 1)] + [longest if place == "name" else "z"]
    rows = [f"{name},{'ab'[k % 2]},{'xy'[k % 3 == 0]}" for k, name in enumerate(names[:-1])]
    rows.append(
        f"{names[-1]},{longest if place == 'class' else 'a'},{longest if place == 'word' else 'x'}"
    )
    (tmp_path / "n.csv").write_text("id,label,town\n" + "\n".join(rows))
    links = [f"{a},{b}" for a, b in itertools.pairwise(names)]
    (tmp_path / "e.csv").write_text("source,target\n" + "\n".join(links))
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.1")
    tracemalloc.start()
    try:
        found = real.read(tmp_path / "e.csv", tmp_path / "n.csv").X.shape
    except gl.ParameterError as error:
        found = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e7
    if place == "word":
        assert found == (n, 3)
    else:
        assert "letters needs about 3.2 GB of memory" in found
        assert "shorten the longest" in found


def test_a_cell_that_is_too_long_is_a_sentence_with_a_remedy(tmp_path):
    (tmp_path / "e.csv").write_text('source,target\na,"' + "b\n" * 10**5)
    with pytest.raises(gl.ParameterError, match=r"field limit .*; cut what is that long, or close"):
        real.read(tmp_path / "e.csv")
