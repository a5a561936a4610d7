"""Tables as people have them: what they say is read, what was done to it is said."""

import contextlib
import gzip
import itertools
import re
import sys
import tracemalloc
import zipfile

import networkx
import numpy as np
import pandas as pd
import pytest

import gcnlimit as gl
from gcnlimit import real

EDGES = "source,target\na,b\nb,c\nc,d\nd,a\n"


@pytest.fixture
def read(tmp_path):
    """Data set of two tables as text."""

    def reader(edges=EDGES, nodes=None, **options):
        (tmp_path / "e.csv").write_text(edges)
        if nodes is not None:
            (tmp_path / "n.csv").write_text(nodes)
        return real.read(
            tmp_path / "e.csv", None if nodes is None else tmp_path / "n.csv", **options
        )

    return reader


@pytest.mark.parametrize(
    "mark", ["", "NA", "N/A", "?", "None", "null", "unknown", "-1", "nan", "na"]
)
def test_what_marks_an_unknown_class_is_no_class(read, mark):
    data = read(nodes=f"node,label\na,student\nb,{mark}\nc,teacher\nd,student\n")
    assert data.y.tolist() == ["student", "", "teacher", "student"]
    assert f"1 of 4 nodes has no label ({mark or 'empty'})." in data.notes


@pytest.mark.parametrize("option", ["label", "id"])
def test_a_column_of_nodes_needs_their_table(read, option):
    with pytest.raises(gl.ParameterError, match="name columns of a table of nodes; give"):
        read(**{option: "source"})


def test_the_columns_may_have_any_name(read):
    nodes = "age,role,who,city\n20,x,a,Rome\n30,y,b,Oslo\n40,x,c,Rome\n50,?,d,Oslo\n"
    data = read(nodes=nodes, label="role", id="who", drop="city")
    assert data.names.tolist() == ["a", "b", "c", "d"]
    assert data.y.tolist() == ["x", "y", "x", ""]
    assert data.X.ravel().tolist() == [20, 30, 40, 50]
    for wrong in ({"label": "rank"}, {"id": "name"}, {"drop": ["town"]}):
        with pytest.raises(gl.ParameterError, match="names no column"):
            read(nodes=nodes, **({"label": "role", "id": "who"} | wrong))


def test_a_missing_number_is_the_mean_and_is_marked(read):
    data = read(nodes="node,label,age,size\na,x,20,1\nb,y,,NA\nc,x,40,3\nd,y,30,5\n")
    assert data.X.tolist() == [
        [20, 1, 0],
        [30, 3, 1],
        [40, 3, 0],
        [30, 5, 0],
    ]  # one mark for both columns
    assert (
        "Missing numbers were replaced by the mean of their column, and 0/1 columns mark them: age (1), size (1)."
        in data.notes
    )


def test_words_become_columns(read):
    data = read(nodes="node,label,city\na,x,Rome\nb,y,Oslo\nc,x,\nd,y,Rome\n")
    assert data.X.tolist() == [[0, 1], [1, 0], [0, 0], [0, 1]]
    assert "Words became columns of 0 and 1: city (2)." in data.notes


def test_nodes_that_only_edges_name_are_added(read):
    data = read(nodes="node,label,age\na,x,20\nb,y,40\n")
    assert data.names.tolist() == ["a", "b", "c", "d"]
    assert data.y.tolist() == ["x", "y", "", ""]
    assert data.X.tolist() == [[20, 0], [40, 0], [30, 1], [30, 1]]
    lacks = "The table of nodes lacks 2 nodes of the edges, such as 'c'"
    assert f"{lacks}; labels and features are missing there." in data.notes


def test_what_was_done_to_the_edges_is_said(read):
    data = read("a,b\na,b\nb,a\nc,a\nc,c\n")
    assert data.graph.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    assert data.notes == (
        "Ignored 1 duplicate edge.",
        "Dropped 1 self-loop.",
        "The graph is read as directed (1 pair of nodes in both directions); "
        "to ignore the directions, use --undirected (undirected=True).",
    )
    both = read("a,b\na,b\nb,a\nc,a\nc,c\n", undirected=True)
    assert both.graph.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert both.notes == ("Ignored 2 duplicate edges.", "Dropped 1 self-loop.")
    assert read("a,b\nb,a\n").notes == ()


def test_weights_of_an_edge_listed_twice_are_added(read):
    assert read("a,b,2\na,b,3\n").graph.toarray().tolist() == [[0, 5], [0, 0]]
    larger = read("a,b,2\na,b,3\nb,a,1\n", undirected=True)
    assert larger.graph.toarray().tolist() == [[0, 5], [5, 0]]
    assert "Took the larger weight of 1 pair in both directions." in larger.notes
    alike = read("a,b,2\nb,a,2\n", undirected=True)
    assert not any("larger" in note for note in alike.notes)


@pytest.mark.parametrize(
    "edges",
    [
        "user,friend\n1,2\n2,3\n",
        "who,whom,count\na,b,1\nb,c,1\n",
        "1,2\n2,3\n",
        "from\tto\n1\t2\n2\t3\n",
    ],
)
def test_names_of_columns_are_no_nodes(read, edges):
    assert read(edges).nodes == 3


def test_names_of_columns_are_known_from_the_table_of_nodes(read):
    assert read("who,whom\na,b\nb,a\n", "node,label\na,x\nb,y\n").names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "edges, nodes, sentence",
    [
        ("a,b,1,2\n", None, r"has 4 columns, 1, 2, 3, 4; keep two \(source, target\) or three"),
        (
            "source,target,date\na,b,2024-01-01\n",
            None,
            "column 'date' of .* contains '2024-01-01'; .* weight",
        ),
        (
            EDGES,
            "node,label,size\na,x,3\nb,y,tall\n",
            "column 'size' holds numbers, such as 3, and words, such as 'tall'; .* --words size",
        ),
        (
            EDGES,
            "node,label,part\na,x,12%\nb,y,$5\n",
            "'part' holds numbers written in different ways, such as '\\$5'",
        ),
        (
            EDGES,
            'node,label,part\na,x,10\nb,y,"2,5"\nc,y,3.5\n',
            "'part' holds numbers written in different ways, such as '2,5' and '3.5'",
        ),
        (
            EDGES,
            "node,label,part\na,x,12%\nb,y,5\n",
            "'part' holds numbers written in different ways",
        ),
        (
            EDGES,
            "node,label,part\na,x,5%\nb,y,high\n",
            "'part' holds numbers, such as 5%, and words, such as 'high'",
        ),
        (
            EDGES,
            "node,label,born\na,x,1/2/2023\nb,y,3/4/2023\n",
            "'born' holds dates or times, such as '1/2/2023'",
        ),
        (
            EDGES,
            "node,label,born\na,x,9:30\nb,y,10:30\n",
            "'born' holds dates or times, such as '10:30'",
        ),
        (
            EDGES,
            "node,class,label\na,x,p\nb,y,q\n",
            "the columns 'label' and 'class'; choose one by --label label",
        ),
        ("a,\n", None, "has an empty cell in row 1 of its column '2', which names nodes"),
        ("a,b,-2\n", None, "1 negative weight, such as -2"),
    ],
)
def test_what_cannot_be_read_is_named_in_the_users_words(read, edges, nodes, sentence):
    with pytest.raises(gl.ParameterError, match=sentence):
        read(edges, nodes)


def test_compressed_tables_are_read_as_plain_ones(tmp_path, read):
    with gzip.open(tmp_path / "e.csv.gz", "wt") as file:
        file.write(EDGES)
    assert (real.read(tmp_path / "e.csv.gz").graph != read().graph).nnz == 0
    (tmp_path / "bad.csv.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(gl.ParameterError, match="cannot be read as a table"):
        real.read(tmp_path / "bad.csv.gz")


def test_data_frames_are_read_as_files_are(read):
    nodes = "node,label,age,city\na,1,20,Rome\nb,,,Oslo\nc,2,40,\nd,1,30,Rome\n"
    file = read(nodes=nodes)
    frame = pd.DataFrame(
        {
            "label": [1, np.nan, 2, 1],
            "age": pd.array([20, pd.NA, 40, 30], dtype="Int64"),
            "city": pd.Categorical(["Rome", "Oslo", None, "Rome"]),
        },
        index=pd.Index(["a", "b", "c", "d"], name="node"),
    )
    edges = pd.DataFrame({"source": list("abcd"), "target": list("bcda")})
    data = real.read(edges, frame)
    assert np.array_equal(data.X, file.X)
    assert data.y.tolist() == file.y.tolist() == [1, -1, 2, 1]
    assert (data.graph != file.graph).nnz == 0
    born = pd.to_datetime(["2001-02-03", None, "2001-02-13", "2001-02-03"])
    assert real.read(edges, frame.assign(born=born)).X[:, -2].tolist() == [0, 10 / 3, 10, 0]


def test_what_filtering_leaves_in_the_index_of_a_frame_is_no_column():
    edges = pd.DataFrame({"source": [0, 0, 1, 2], "target": [1, 1, 2, 0]})
    nodes = pd.DataFrame({"id": [2, 9, 0, 1], "label": [5, 6, 5, 6], "age": [1.0, 2.0, 3.0, 4.0]})
    data = real.read(edges.drop_duplicates(), nodes[nodes["id"] < 9])
    assert data.names.tolist() == ["2", "0", "1"]
    assert data.graph.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    named = nodes[nodes["id"] < 9].set_index("id")
    for frame in (
        named,
        named.rename_axis(None),
    ):  # names of nodes, with or without a name of their own
        same = real.read(edges, frame)
        assert same.names.tolist() == data.names.tolist()
        assert np.array_equal(same.X, data.X)


def test_a_comma_is_the_decimal_point_between_semicolons(read):
    data = read(
        "source;target;weight\na;b;0,5\nb;c;1,5\n", "id;age;label\na;-1,25;x\nb;2;y\nc;3,5;x\n;;\n"
    )
    assert data.graph.data.tolist() == [0.5, 1.5]
    assert data.X.ravel().tolist() == [-1.25, 2, 3.5]


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_the_numbers_of_rows_that_pandas_writes_are_no_column(read, index):
    edges = f"{index},source,target\n0,5,7\n1,7,6\n2,6,5\n"
    assert read(edges).names.tolist() == ["5", "6", "7"]
    data = read(edges, f"{index},id,age,label\n0,5,1,x\n1,6,2,y\n2,7,3,x\n")
    assert data.graph.toarray().tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert data.X.ravel().tolist() == [1, 2, 3]
    assert read("0,1\n1,2\n", f"{index},age,label\n0,1,x\n1,2,y\n2,3,x\n").names.tolist() == [
        "0",
        "1",
        "2",
    ]


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
@pytest.mark.parametrize("first", [0, 1])
def test_the_numbers_of_rows_are_left_out_with_a_note_whatever_names_the_nodes(read, index, first):
    """As pandas writes them, from 0, and R, from 1."""
    edges = f"{index},src,dst\n" + "".join(
        f"{first + k},{e}\n" for k, e in enumerate(["p,q", "q,r", "r,p"])
    )
    nodes = f"{index},device,age,label\n" + "".join(
        f"{first + k},{n},{10 * k},x\n" for k, n in enumerate("pqr")
    )
    for options in (
        {},
        {"id": "device"},
        {"drop": "Unnamed: 0"},
        {"drop": ""},
        {"id": "device", "drop": "Unnamed: 0"},
    ):
        data = read(edges, nodes, **options)
        assert data.names.tolist() == ["p", "q", "r"]
        assert data.graph.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
        assert data.X.ravel().tolist() == [0, 10, 20]
        told = [note for note in data.notes if note.startswith("Left out the numbers of the rows")]
        assert len(told) == (0 if "drop" in options else 2)


def test_edges_most_of_whose_nodes_are_not_in_the_table_are_refused(read):
    sentence = "names 1 of the 4 nodes of the edges: its nodes look like 'a', theirs like 'b'"
    with pytest.raises(gl.ParameterError, match=sentence):
        read(nodes="id,label\na,x\nz,y\n")
    with pytest.raises(gl.ParameterError, match=r"names 0 of the 4 nodes .* 'A', theirs like 'a'"):
        read(nodes="id,label\nA,x\nB,y\n")


NUMBERS = {
    ("1,200", "7", "1,000,000.5"): ([1200, 7, 1000000.5], "thousands separators"),
    ("1.200,50", "7", "1.200"): ([1200.5, 7, 1200], "thousands separators, decimal commas"),
    ("1 200", "7", "12 000,5"): ([1200, 7, 12000.5], "thousands separators, decimal commas"),
    ("12%", "7.5 %", "-1%"): ([12, 7.5, -1], "%"),
    ("$1,200", "-$7", "$0.50"): ([1200, -7, 0.5], "thousands separators, $"),
    ("3 €", "7 €", "0,5 €"): ([3, 7, 0.5], "decimal commas, €"),
    ("2023-12-31", "2024-01-02", "2024-01-01 12:00"): None,
    ("2023-12-31", "2024-01-02", "2024-01-01"): ([0, 2, 1], "days since 2023-12-31"),
    ("31/12/2023", "2/1/2024", "01/01/2024"): ([0, 2, 1], "days since 2023-12-31"),
    ("20231231", "20240102", "20240101"): ([0, 2, 1], "days since 2023-12-31"),
    ("₹1,20,000", "₹7", "₹12,34,567.5"): ([120000, 7, 1234567.5], "thousands separators, ₹"),
    ("0,500", "1,250", "0,750"): ([0.5, 1.25, 0.75], "decimal commas"),
    ("R$ 7", "R$ 1.200,50", "R$ 0,5"): (
        [7, 1200.5, 0.5],
        "thousands separators, decimal commas, R$",
    ),
    ("1,200円", "7円", "0円"): ([1200, 7, 0], "thousands separators, 円"),
    ("1.200,50 R$", "7 R$", "0,5 R$"): (
        [1200.5, 7, 0.5],
        "thousands separators, decimal commas, R$",
    ),
    ("12/31/23", "1/2/24", "1/1/24"): ([0, 2, 1], "days since 2023-12-31"),
    ("31.12.23", "02.01.24", "01.01.24"): ([0, 2, 1], "days since 2023-12-31"),
    ("31-Dec-2023", "02-Jan-2024", "1-Jan-2024"): ([0, 2, 1], "days since 2023-12-31"),
    ("31 December 2023", "2 January 2024", "1 January 2024"): ([0, 2, 1], "days since 2023-12-31"),
    ("2023-12-31T00:00", "2024-01-02T12:00", "2024-01-01T00:00"): (
        [0, 2.5, 1],
        "days since 2023-12-31",
    ),
    ("2023-12-31 00:00:00+00:00", "2024-01-02 01:00:00+01:00", "2024-01-01 00:00:00+00:00"): (
        [0, 2, 1],
        "days since 2023-12-31",
    ),
}


@pytest.mark.parametrize("cells", NUMBERS)
def test_numbers_are_read_however_people_write_them(read, cells):
    rows = "".join(f'{name},"{cell}",x\n' for name, cell in zip("abc", cells, strict=True))
    if NUMBERS[cells] is None:
        with pytest.raises(gl.ParameterError, match="holds dates or times"):
            read(nodes=f"id,size,label\n{rows}")
        return
    values, way = NUMBERS[cells]
    data = read(nodes=f"id,size,label\n{rows}d,,y\n")
    assert data.X[:3, 0].tolist() == values
    assert data.X[3].tolist() == [np.mean(values), 1]
    assert f"Read as numbers: size ({way})." in data.notes


def test_codes_that_lose_their_zeros_as_numbers_are_noted_and_may_be_words(read):
    nodes = "id,postcode,age,label\na,00137,0,x\nb,10115,7,y\nc,00137,9,x\nd,10115,1,y\n"
    told = "postcode (without leading zeros, such as 00137; for codes use --words COLUMN"
    data = read(nodes=nodes)
    assert data.X[:, 0].tolist() == [137, 10115, 137, 10115]
    assert f"Read as numbers: {told} (words='COLUMN'))." in data.notes
    kept = read(nodes=nodes, words="postcode")
    assert kept.X.tolist() == [[1, 0, 0], [0, 1, 7], [1, 0, 9], [0, 1, 1]]
    assert not any("zeros" in note for note in kept.notes)


def test_commas_and_points_of_weights_and_columns_between_semicolons(read):
    data = read(
        "a;b;1.200,5\nb;c;1,5\n", "id;age;size;label\na;1.234,50;1,234;x\nb;2;2;y\nc;1.000;3,5;x\n"
    )
    assert data.graph.data.tolist() == [1200.5, 1.5]
    assert data.X.tolist() == [[1234.5, 1.234], [2, 2], [1000, 3.5]]


def test_missing_words_are_counted_and_may_be_words(read):
    nodes = "id,country,code,label\na,NA,1,NA\nb,DE,2,y\nc,,1,x\nd,FR,2,y\n"
    data = read(nodes=nodes)
    assert "Missing words have 0 in all of these columns: country (2: NA, empty)." in data.notes
    assert "To keep words such as NA, use --words COLUMN (words='COLUMN')." in data.notes
    empty = read(nodes=nodes.replace("NA,", ","))
    assert "Missing words have 0 in all of these columns: country (2: empty)." in empty.notes
    assert not any("To keep words" in note for note in empty.notes)
    kept = read(nodes=nodes, words=["country", "code", "label"])
    assert kept.X.tolist() == [[0, 0, 1, 1, 0], [1, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 1, 0, 0, 1]]
    assert kept.y.tolist() == ["NA", "y", "x", "y"]
    with pytest.raises(
        gl.ParameterError, match=r"words=.land.\) names no column; there are id, country"
    ):
        read(nodes=nodes, words="land")


@pytest.mark.parametrize("mark", ["\u2013", "\u2014", "..", ":", "k.A.", "n.d.", "#NV", ".a"])
def test_marks_of_missing_numbers_in_offices_of_statistics(read, mark):
    data = read(
        nodes=f"id,size,since,label\na,1,2024-01-01,x\nb,{mark},0000-00-00,y\nc,2,2024-01-03,x\n"
    )
    assert data.X[:3].tolist() == [[1, 0, 0], [1.5, 1, 1], [2, 2, 0]]


def test_spaces_that_nobody_sees_do_not_part_two_names(read):
    data = read("a b,c\nc,d\n", "id,size,label\na\u00a0b,1,x\n\u200bc,2,y\nd,3,x\n")
    assert data.names.tolist() == ["a b", "c", "d"]


def test_the_cell_that_is_no_date_is_named(read):
    for odd in ("2024-02-30", "soon"):
        nodes = f"id,since,label\na,2024-01-01,x\nb,{odd},y\nc,2024-01-03,x\n"
        with pytest.raises(gl.ParameterError, match=f"dates or times, such as .*'{odd}'"):
            read(nodes=nodes)


@pytest.mark.parametrize("code", ["latin-1", "cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_the_encodings_of_spreadsheets_are_read(tmp_path, code):
    (tmp_path / "e.csv").write_bytes("Zürich,Köln\n".encode(code))
    data = real.read(tmp_path / "e.csv")
    assert data.names.tolist() == ["Köln", "Zürich"]
    assert any("was read as cp1252" in note for note in data.notes) == (
        code in ("latin-1", "cp1252")
    )
    assert real.read(tmp_path / "e.csv", encoding=code).names.tolist() == ["Köln", "Zürich"]


def test_other_encodings_are_given_by_name(tmp_path):
    (tmp_path / "e.csv").write_bytes("東京,大阪\n".encode("shift_jis"))
    assert real.read(tmp_path / "e.csv", encoding="shift_jis").names.tolist() == ["大阪", "東京"]
    for code, sentence in (
        ("shift-jsi", "encoding = 'shift-jsi' is not known"),
        ("ascii", "is not text in ascii; save it as CSV, or"),
    ):
        with pytest.raises(gl.ParameterError, match=sentence):
            real.read(tmp_path / "e.csv", encoding=code)
    (tmp_path / "e.csv").write_bytes(b"a,\x81\n")
    with pytest.raises(
        gl.ParameterError, match=r"is not text in UTF-8 or cp1252; save .* by --encoding NAME"
    ):
        real.read(tmp_path / "e.csv")


def test_a_column_that_is_not_found_tells_of_a_guessed_encoding(tmp_path):
    """Names of columns that look strange are those of another encoding."""
    (tmp_path / "e.csv").write_text("a,b\n")
    (tmp_path / "n.csv").write_bytes("名称,类别\na,红\nb,蓝\n".encode("gbk"))
    with pytest.raises(gl.ParameterError, match=r"was read as cp1252.* use --encoding NAME"):
        real.read(tmp_path / "e.csv", tmp_path / "n.csv", label="类别")
    data = real.read(tmp_path / "e.csv", tmp_path / "n.csv", label="类别", encoding="gbk")
    assert data.y.tolist() == ["红", "蓝"]


def test_a_compressed_table_is_unpacked_no_further_than_memory_allows(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"a,b\n" * 10**7)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.1")
    tracemalloc.start()
    with pytest.raises(
        gl.ParameterError, match=r"bomb.csv.gz' holds more than 2.5 MB, for which there is not"
    ):
        real.read(tmp_path / "bomb.csv.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**7


def test_attributes_of_networkx_are_read_as_columns_are():
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, {0: 20, 2: 40}, "age")
    networkx.set_node_attributes(graph, {0: "Rome", 1: "Oslo", 2: "Rome"}, "city")
    networkx.set_node_attributes(graph, {0: "x", 2: "y"}, "role")
    data = real.from_networkx(graph, features=["age", "city"], label="role")
    assert data.X.tolist() == [[20, 0, 1, 0], [30, 1, 0, 1], [40, 0, 1, 0]]
    assert data.y.tolist() == ["x", "", "y"]
    ages = real.from_networkx(graph, features="age", label="role")  # a choice: a note, no warning
    assert ages.X.tolist() == [[20, 0], [30, 1], [40, 0]]
    assert ages.notes[-1].startswith("Attributes that were not taken: city (name")
    with pytest.warns(UserWarning, match="not taken: age, city, role") as told:
        bare = real.from_networkx(graph)
    assert [str(warning.message) for warning in told] == [*bare.notes]
    assert bare.X is None
    wrong = ({"features": ["height"]}, {"label": "rank"}, {"features": None}, {"label": ["role"]})
    for options in wrong:
        with pytest.raises(
            gl.ParameterError, match=r"no node has the attribute .* age, city, role"
        ):
            real.from_networkx(graph, **options)


def test_sentences_on_attributes_name_what_the_function_has():
    graph = networkx.path_graph(4)
    networkx.set_node_attributes(graph, {0: "01", 1: "02", 2: "01", 3: "03"}, "zip")
    codes = real.from_networkx(graph, ["zip"])
    assert codes.X.shape == (4, 1)
    assert "words='COLUMN'" in codes.notes[-1]
    assert real.from_networkx(graph, ["zip"], words="zip").X.shape == (4, 3)
    networkx.set_node_attributes(graph, {0: 1, 1: "a", 2: 3, 3: 4}, "mixed")
    with pytest.raises(gl.ParameterError, match=r"leave it out by features=\[...\]") as error:
        real.from_networkx(graph, ["mixed"])
    assert "--" not in str(error.value)


class Broken:
    """An object none of whose texts and numbers can be had."""

    def __str__(self):
        raise RuntimeError("no text")

    __float__ = __repr__ = __array__ = __str__


@pytest.mark.parametrize(
    "value", [{1.0, 2.0}, {"a": 1}, (k for k in range(2)), object(), Broken()], ids=lambda v: ""
)
def test_attributes_that_are_no_numbers_and_no_words_are_refused(value):
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, {0: value, 1: value}, "kind")
    for options in ({"features": "kind"}, {"features": ["kind"]}, {"label": "kind"}):
        with pytest.raises(
            gl.ParameterError, match=r"^kind|neither a number nor a word|numbers or strings"
        ):
            real.from_networkx(graph, **options)
    graph = networkx.path_graph(3)
    networkx.set_edge_attributes(graph, Broken(), "weight")
    with pytest.raises(gl.ParameterError, match="numbers as weights"):
        real.from_networkx(graph)


def test_names_of_features_have_an_order():
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, 1.0, "age")
    networkx.set_node_attributes(graph, 2.0, "size")
    assert np.array_equal(real.from_networkx(graph, (k for k in ("size", "age"))).X[0], [2.0, 1.0])
    with pytest.raises(gl.ParameterError, match="choose among: age, size"):
        real.from_networkx(graph, {"age", "size"})


def test_rows_of_networkx_are_flattened_and_belong_to_every_node():
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, {k: np.array([[k, 1], [2, 3]]) for k in range(3)}, "x")
    networkx.set_node_attributes(graph, {0: "a", 1: "b"}, "label")
    assert np.array_equal(real.from_networkx(graph).X, [[k, 1, 2, 3] for k in range(3)])
    del graph.nodes[1]["x"]
    with pytest.raises(gl.ParameterError, match="some nodes have no attribute 'x'; give it to all"):
        real.from_networkx(graph)


ODD = {
    "leading zeros": (["0123", "007", "100"], [123, 7, 100]),
    "a unit": (["12 kg", "7.5 kg", "-1 kg"], [12, 7.5, -1]),
    "a currency by name": (["USD 1,200", "USD -7", "USD 0.5"], [1200, -7, 0.5]),
    "a minus of word processors": (["\u22125", "2", "3"], [-5, 2, 3]),
    "months": (["2020-01", "2020-02", "2020-03"], [0, 31, 60]),
    "months in words": (["Jan 2020", "Feb 2020", "Mar 2020"], [0, 31, 60]),
    "the clock of browsers": (
        ["2020-01-01T00:00:00.000Z", "2020-01-02T12:00:00.500Z", "2020-01-03T00:00:00.000Z"],
        [0, 1.5 + 0.5 / 86400, 2],
    ),
    "before noon and after": (
        ["1/30/2020 12:00 AM", "1/31/2020 6:00 PM", "2/1/2020 12:00 PM"],
        [0, 1.75, 2.5],
    ),
    "errors of spreadsheets": (["#DIV/0!", "4", "#N/A"], [4, 4, 4]),
    "huge numbers": ([str(10**18), "1", "2"], [1e18, 1, 2]),
    "constant": (["5", "5", "5"], [5, 5, 5]),
    "underscores": (["1_000", "2", "3"], [1000, 2, 3]),
}
WAYS = {
    "commas": (",", "", "utf-8"),
    "Excel": (";", "sep=;\n", "utf-8-sig"),
    "tabs below comments": ("\t", "# made by hand\n\n% twice\n", "utf-8"),
    "pipes": ("|", "", "utf-8"),
    "empty last column": (",", "", "utf-16"),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_table_is_the_same_however_it_is_written(tmp_path, monkeypatch, odd):
    """Files of any kind, with and without pandas, and a data frame of the same cells."""
    cells, values = ODD[odd]
    lines = [["Köln", "a\nb", "label"], *([n, c, "x"] for n, c in zip("abc", cells, strict=True))]
    (tmp_path / "e.csv").write_text(EDGES)
    edges = pd.DataFrame({"source": list("abcd"), "target": list("bcda")})
    frame = real.read(edges, pd.DataFrame(lines[1:], columns=lines[0]))
    assert frame.X[:3, 0] == pytest.approx(values, abs=1e-12)
    assert frame.y.tolist() == ["x", "x", "x", ""]
    for way, (mark, top, code) in WAYS.items():
        end = f"{mark}\n" if way == "empty last column" else "\n"
        written = "".join(mark.join(f'"{cell}"' for cell in line) + end for line in lines)
        (tmp_path / "n.csv").write_bytes((top + written + mark * 2 + end).encode(code))
        for hidden in ({}, {"pandas": None}):
            with monkeypatch.context() as patched:
                for name, module in hidden.items():
                    patched.setitem(sys.modules, name, module)
                data = real.read(tmp_path / "e.csv", tmp_path / "n.csv")
            assert np.array_equal(data.X, frame.X), way
            assert data.y.tolist() == frame.y.tolist()
            assert data.notes == frame.notes


def test_a_spreadsheet_is_read_as_its_text_is(tmp_path):
    pytest.importorskip("openpyxl")
    born = pd.to_datetime(["2020-01-05", "2020-01-07", None])
    nodes = pd.DataFrame({"id": ["007", "8", "9"], "size": [0.1, None, 3], "born": born})
    nodes["label"] = ["NA", "x", "y"]
    with pd.ExcelWriter(tmp_path / "n.xlsx") as book:
        nodes.to_excel(book, sheet_name="nodes", index=False)
        nodes.to_excel(book, sheet_name="more")
    pd.DataFrame([["007", 8], [8, 9], [9, 8]]).to_excel(
        tmp_path / "e.xlsx", header=False, index=False
    )
    data = real.read(tmp_path / "e.xlsx", tmp_path / "n.xlsx")
    assert data.names.tolist() == ["007", "8", "9"]
    assert data.y.tolist() == ["", "x", "y"]
    assert data.X.tolist() == [[0.1, 0, 0, 0], [1.55, 2, 0, 1], [3, 1, 1, 0]]
    assert any(note.startswith("Read the sheet 'nodes' of") for note in data.notes)


def test_a_spreadsheet_that_cannot_be_read_says_what_to_do(tmp_path, monkeypatch):
    for content, sentence in (
        (b"PK\3\4 broken", "cannot be read as a table"),
        (None, "needs openpyxl: pip install openpyxl; or save it as CSV"),
    ):
        with zipfile.ZipFile(tmp_path / "e.xlsx", "w") as book:
            book.writestr("sheet", "a,b")
        if content:
            (tmp_path / "e.xlsx").write_bytes(content)
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(gl.ParameterError, match=sentence):
            real.read(tmp_path / "e.xlsx")


def test_a_spreadsheet_is_unpacked_no_further_than_memory_allows(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "e.xlsx", "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", b"\0" * 10**7)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.1")
    with pytest.raises(gl.ParameterError, match=r"e.xlsx' needs about 0.4 GB of memory"):
        real.read(tmp_path / "e.xlsx")


def test_what_the_third_column_is_taken_for_is_said(read):
    edges = "src,dst,timestamp\na,b,1600000000\nb,c,1600000100\n"
    told = "Column 'timestamp' holds the weights of the edges, 1600000000 to 1600000100; if it does"
    assert any(note.startswith(told) for note in read(edges).notes)
    assert not any("weights" in note for note in read("a,b,1\nb,c,1\n").notes)
    with pytest.raises(gl.ParameterError, match=r"contains ''; .* numbers: correct it, or leave"):
        read("source,target,w\na,b,\nb,c,1\n")


@pytest.mark.parametrize("nodes", ["a,3,x\nb,4,y\nc,5,x\n", "# id,size,label\na,3,x\nb,4,y\n"])
def test_a_table_of_nodes_without_names_of_columns_is_refused(read, nodes):
    with pytest.raises(gl.ParameterError, match="begins with the node 'a'; add a first row"):
        read(nodes=nodes)


def test_words_that_differ_in_capital_letters_alone_are_named(read):
    data = read(nodes="id,town,label\na,Rome,Red\nb,rome,red\nc,Oslo,blue\nd,Oslo,blue\n")
    begins = "Words that differ only in capital letters count separately: "
    told = [note.removeprefix(begins) for note in data.notes if note.startswith(begins)]
    assert [note[:14] for note in told] == ["Red and red; w", "Rome and rome;"]


def test_classes_that_begin_with_a_zero_stay_as_they_are(read):
    assert read(nodes="id,label\na,01\nb,02\nc,unlabelled\nd,01\n").y.tolist() == [
        "01",
        "02",
        "",
        "01",
    ]


def test_no_sentence_lists_a_thousand_columns(read):
    head = ",".join(f"x{k}" for k in range(1000))
    with pytest.raises(gl.ParameterError, match=r"x18 and 981 more") as refused:
        read("source," + head + "\n" + ",".join(["a"] * 1001) + "\n")
    assert len(str(refused.value)) < 500


def test_a_row_that_is_cut_is_named(read):
    with pytest.raises(gl.ParameterError, match="row that begins with '# two' has 1 cell where"):
        read("a,b\n# two\nb,c\n")


def test_coordinates_are_no_classes(read):
    rows = "".join(
        f"{name},{k}.5,{k % 7}.25,pub\n" for k, name in enumerate("abcdefghijklmnopqrstuv")
    )
    edges = "source,target\n" + "".join(f"{name},a\n" for name in "bcdefghijklmnopqrstuv")
    with pytest.raises(
        gl.ParameterError, match=r"holds 22 different numbers, such as 0.5; name one"
    ):
        read(edges, f"id,y,x,type\n{rows}")
    assert {*read(edges, f"id,y,x,type\n{rows}", label="type").y} == {"pub"}
    assert {*read(edges, f"id,x,y,type\n{rows}").y} == {f"{k}.25" for k in range(7)}


def test_the_column_that_names_the_nodes_of_the_edges_is_named(read):
    with pytest.raises(
        gl.ParameterError, match="write both alike, name another column by --id code"
    ):
        read(nodes="name,code,label\nShop 1,a,x\nShop 2,b,y\n")


def test_a_row_of_very_many_cells_is_refused_before_it_is_split(tmp_path, monkeypatch):
    (tmp_path / "e.csv").write_text("a" + "," * 10**6)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.1")
    with pytest.raises(gl.ParameterError, match="a row of 1000000 cells in"):
        real.read(tmp_path / "e.csv")


def test_all_columns_that_cannot_be_features_are_named_at_once(read):
    names = [f"{i}" for i in range(30)]
    edges = "source,target\n" + "\n".join(f"{a},{b}" for a, b in itertools.pairwise(names))
    rows = [f"{i},person {i},+49 {i}{i},{i % 3},{i}:30" for i in range(30)]
    table = "\n".join(["id,name,phone,age,hour", *rows])
    with pytest.raises(gl.ParameterError, match="column 'name' holds 30 different words") as raised:
        read(edges, table)
    assert str(raised.value).endswith("that cannot be features as they are: phone, hour")
    assert read(edges, table, drop=["name", "phone", "hour"]).X.shape == (30, 1)


@pytest.mark.parametrize("head", ["", "x0,x1,x2,x3,x4,x5\n", "node,x0,x1,x2,x3,x4,x5\n"])
def test_an_adjacency_matrix_is_no_list_of_edges(read, head):
    matrix = np.eye(6, k=1, dtype=int)
    rows = [",".join(map(str, row)) for row in matrix]
    if head.startswith("node"):
        rows = [f"x{k},{row}" for k, row in enumerate(rows)]
    with pytest.raises(
        gl.ParameterError, match="as many as rows, like an adjacency matrix: write one edge"
    ):
        read(head + "\n".join(rows))


def test_an_adjacency_list_is_no_list_of_edges(read):
    with pytest.raises(gl.ParameterError, match="unlike an adjacency list"):
        read("a b c d e\nb c\nc a d\n")


def test_another_column_is_named_only_if_it_has_most_of_the_nodes(read):
    with pytest.raises(gl.ParameterError, match="by --id COLUMN"):
        read("a,b\n0,1\n1,2\n2,3\n3,4\n", "id,flag\n00,0\n01,1\n02,0\n03,1\n")


def test_a_table_in_a_zip_is_read_as_the_table(tmp_path, read):
    plain = read()
    packed = tmp_path / "e.csv.zip"
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("__MACOSX/._e.csv", "of the program that packed it")
        file.writestr("folder/", "")
        file.write(tmp_path / "e.csv", "folder/e.csv")
    assert (real.read(packed).graph != plain.graph).nnz == 0
    with zipfile.ZipFile(packed, "a") as file:
        file.writestr("other.csv", "source,target\n")
    with pytest.raises(gl.ParameterError, match="holds 2 files; unpack it"):
        real.read(packed)


@pytest.mark.parametrize("edges", [[(0, 1, 2.0), (1, 2, 1.0)], [("a", "b"), ("b", "c")]])
def test_pairs_that_are_none_are_told_where_weights_and_names_go(edges):
    shape = re.escape(str(np.shape(edges)))
    with pytest.raises(gl.ParameterError, match=f"edges have shape {shape}.*weights=.*real.read"):
        real.from_edges(edges)


def test_the_ends_of_edges_are_the_columns_that_name_nodes(read):
    """A weight may be first, also of few values, which would be few nodes beside those of the table."""
    nodes = "id,label\na,x\nb,y\nc,x\nd,y\n"
    data = read("strength,von,nach\n0.5,a,b\n1.5,b,c\n0.5,c,d\n", nodes)
    usual = read("von,nach,strength\na,b,0.5\nb,c,1.5\nc,d,0.5\n", nodes)
    assert (data.graph != usual.graph).nnz == 0
    assert data.names.tolist() == ["a", "b", "c", "d"]
    # items that the table lacks leave the order, and so the directions, as they are
    data = read("item,user,stars\ni,a,5\nj,b,4\ni,c,3\n", nodes)
    assert data.graph[4, 0] == 5.0


def test_one_column_of_edges_is_told_what_separates_two(read):
    with pytest.raises(gl.ParameterError, match="has 1 column, 1; separate two by commas"):
        read("alone\n")


def test_whole_numbers_with_a_fraction_name_the_same_nodes(read):
    """pandas writes 1.0 where a column has a missing cell."""
    data = read("0.0,1\n1.0,2\n2.0,0\n", "id,size,label\n0.0,5,x\n1.0,6,y\n2.0,7,x\n")
    assert data.names.tolist() == ["0", "1", "2"]
    assert data.graph.nnz == 3


def test_edges_of_weight_zero_are_dropped_and_counted(read):
    data = read("a,b,1\nb,c,0\nc,d,2\nd,a,0\n")
    assert data.graph.nnz == 2
    assert "Dropped 2 edges of weight 0." in data.notes


@pytest.mark.parametrize(
    "text",
    [
        '{"source": 1, "target": 2}\n',
        "<!DOCTYPE html><p>",
        "<table><tr><td>1</td></tr></table>",
        "[[1, 2]]",
        "%%MatrixMarket matrix coordinate\n2 2 1\n1 2\n",
    ],
)
def test_what_is_no_table_is_refused(read, text):
    with pytest.raises(gl.ParameterError, match="is XML, JSON, a matrix or a web page; save it"):
        read(text)


def test_numbers_in_brackets_are_negative_and_unlike_ones_are_both_shown(read):
    rows = 'id,sum,label\na,"($1,200.50)",x\nb,$7,y\nc,$1,x\nd,$2,y\n'
    assert read(nodes=rows).X[:, 0].tolist() == [-1200.5, 7, 1, 2]
    with pytest.raises(gl.ParameterError, match=r"different ways, such as '1.5 €' and '2,5 €'"):
        read(nodes="id;sum;label\na;1.5 €;x\nb;2,5 €;y\nc;1.7 €;x\nd;9.5 €;y\n")


def test_tables_in_the_wrong_order_are_told_to_be_exchanged(read):
    with pytest.raises(gl.ParameterError, match="those of edges; swap the two files"):
        read("id,size,label\na,1,x\nb,2,y\n", "source,target\na,b\nb,a\n")


def test_nodes_that_only_one_table_has_are_noted(read):
    nodes = "id,size,label\na,1,x\nb,2,y\nc,3,x\nTotal,6,\n"
    notes = read("a,b\nb,c\nA,c\n", nodes).notes
    assert "Names that differ only in capital letters are different nodes: 'A' and 'a'." in notes
    assert "1 node of the table, such as 'Total', has no edge." in notes


def test_ids_that_lost_digits_as_floats_are_refused():
    ids = 10**17 + np.arange(4)
    edges = pd.DataFrame({"s": ids[:-1].astype(float), "t": ids[1:]})
    with pytest.raises(gl.ParameterError, match="'s' of the table of edges holds numbers of more"):
        real.read(edges, pd.DataFrame({"id": ids, "label": [0, 1, 0, 1]}))


@pytest.mark.parametrize("name", ["n.xlsx", "n.zip"])
@pytest.mark.parametrize("place", range(8, 46, 2))
def test_a_damaged_archive_is_refused_in_a_sentence(name, place, tmp_path):
    """Its directory may name an unknown compression, a password, or a place before its beginning."""
    with zipfile.ZipFile(tmp_path / name, "w") as book:
        book.writestr("sheet1.csv", "source,target\na,b\n")
    raw = bytearray((tmp_path / name).read_bytes())
    directory = raw.rindex(b"PK\1\2")
    raw[directory + place] ^= 0x61
    (tmp_path / name).write_bytes(raw)
    with contextlib.suppress(gl.ParameterError):
        real.read(tmp_path / name)


def test_a_table_without_columns_is_refused():
    with pytest.raises(gl.ParameterError, match="0 columns"):
        real.read(pd.DataFrame(index=range(3)))
