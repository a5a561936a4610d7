"""A graph that goes out and comes back is the same graph; what cannot be read is said in a sentence."""

import importlib.util
import io
import itertools
import pickle
import zipfile
from types import SimpleNamespace

import networkx
import numpy as np
import pandas
import pytest
from scipy import sparse

import gcnlimit as gl
from gcnlimit import real
from gcnlimit.real.files import read_labelled


def same(one, two):
    assert (one.graph != two.graph).nnz == 0
    assert (one.X is None) == (two.X is None)
    if one.X is not None:
        dense = [np.asarray(x.toarray() if sparse.issparse(x) else x) for x in (one.X, two.X)]
        assert np.array_equal(*dense)
    assert np.array_equal(one.y, two.y)


def small(weights=False, words=False, features=True):
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((12, 12)) < 0.4, 1) * (rng.random((12, 12)) if weights else 1.0)
    y = np.where(np.arange(12) < 9, np.arange(12) % 3, -1)
    if words:
        y = np.array(["a", "b", "c", ""])[y]
    X = rng.standard_normal((12, 2)) if features else None
    train = np.arange(12)[None] < 5
    return real.Dataset(sparse.csr_array(A + A.T), X, y, train, None, ~train)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("features", [False, True])
def test_files_give_back_what_was_written(tmp_path, weights, words, features):
    data = small(weights, words, features)
    real.write(data, tmp_path / "g.npz")
    back = real.read(tmp_path / "g.npz")
    same(data, back)
    assert np.array_equal(data.train, back.train)
    assert np.array_equal(data.test, back.test)
    real.write(data, tmp_path / "edges.csv", tmp_path / "nodes.csv")
    same(data, real.read(tmp_path / "edges.csv", tmp_path / "nodes.csv"))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_networkx_gives_back_what_it_was_given(weights, words):
    data = small(weights, words)
    same(data, real.from_networkx(real.to_networkx(data)))


@pytest.mark.skipif(
    importlib.util.find_spec("torch_geometric") is None, reason="needs torch_geometric"
)
@pytest.mark.parametrize("weights", [False, True])
def test_pytorch_geometric_gives_back_what_it_was_given(weights):
    data = small(weights)
    back = real.from_pyg(real.to_pyg(data))
    assert np.allclose(data.graph.toarray(), back.graph.toarray(), atol=1e-6)
    assert np.allclose(data.X, back.X, atol=1e-6)
    assert np.array_equal(data.y, back.y)
    assert np.array_equal(data.train, back.train)
    with pytest.raises(gl.ParameterError, match="split = 1 is not allowed"):
        real.to_pyg(data, split=1)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("features", [False, True])
def test_data_of_pytorch_geometric_hold_what_was_given(monkeypatch, weights, words, features):
    """Without the package: tensors are the arrays, and words of classes are numbered in their order."""
    module = SimpleNamespace(from_numpy=lambda array: array, Data=SimpleNamespace)
    monkeypatch.setattr("gcnlimit.graphs.packages.load", lambda *names: module)
    data = small(weights, words, features)
    made = real.to_pyg(data)
    assert hasattr(made, "edge_weight") == weights
    back = real.from_pyg(made)
    assert np.allclose(data.graph.toarray(), back.graph.toarray(), atol=1e-6)
    assert np.array_equal(back.y, np.where(np.arange(12) < 9, np.arange(12) % 3, -1))
    assert np.array_equal(back.train, data.train)
    assert np.array_equal(back.test, data.test)
    assert back.val is None
    assert (back.X is None) == (not features)
    assert not features or np.allclose(data.X, back.X, atol=1e-6)
    with pytest.raises(gl.ParameterError, match="split = 1 is not allowed"):
        real.to_pyg(data, split=1)


def test_data_of_pytorch_geometric_need_not_be_tensors():
    class Data:
        edge_index = np.array([[0, 1, 2], [1, 2, 0]])
        num_nodes = 3
        x = np.eye(3)
        y = np.array([0, 1, 0])
        train_mask = np.array([[True, False], [True, True], [False, True]])

    data = real.from_pyg(Data())
    assert data.graph.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert data.training(1).tolist() == [-1, 1, 0]


@pytest.mark.parametrize(
    "directed, classes", [(False, 2), (True, 2), (True, 4), (False, [0.3, 0.7])]
)
def test_a_sampled_instance_is_read_as_it_was_saved(tmp_path, directed, classes):
    model = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2, directed=directed, classes=classes)
    i = gl.sample(model, nodes=100, degree=20, seed=0)
    i.save(tmp_path / "i.npz")
    data = real.read(tmp_path / "i.npz")
    assert np.array_equal(data.X, i.features)
    assert np.array_equal(data.y, i.data.classes.index_of(i.labels))
    assert np.array_equal(data.training() >= 0, i.train_mask)
    loops = sparse.diags_array(i.adjacency.diagonal())
    assert abs(data.graph + loops - i.adjacency).max() == 0


def test_lists_of_edges_need_no_names_and_may_have_spaces(tmp_path):
    (tmp_path / "e.txt").write_text("# from to\n10 2\n2 9\n")
    data = real.read(tmp_path / "e.txt")
    assert data.names.tolist() == ["2", "9", "10"]
    assert data.graph.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_names_may_begin_as_comments_do(tmp_path):
    data = real.Dataset(
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]], None, [0, 1, -1], names=["#a", "%b", "c"]
    )
    real.write(data, tmp_path / "e.csv", tmp_path / "n.csv")
    same(data, real.read(tmp_path / "e.csv", tmp_path / "n.csv"))


def test_a_node_may_have_any_name_and_a_class_may_be_missing(tmp_path):
    names = ["日本", "a\u2028b", "9" * 5000, "x"]
    (tmp_path / "e.csv").write_text(
        "".join(f"{a},{b}\r\n" for a, b in itertools.pairwise(names)), "utf-8-sig"
    )
    rows = zip(names, ("1_0", "10", "nan", ""), strict=True)
    (tmp_path / "n.csv").write_text(
        "node,label\n" + "".join(f"{a},{b}\n" for a, b in rows), "utf-8"
    )
    data = real.read(tmp_path / "e.csv", tmp_path / "n.csv")
    assert (data.names.tolist(), data.y.tolist()) == (names, ["1_0", "10", "", ""])
    assert real.read(tmp_path / "e.csv").nodes == 4


def test_public_graphs_are_as_described(cora, texas):
    assert (cora.nodes, cora.graph.nnz // 2, cora.X.shape[1], cora.splits) == (2708, 5278, 1433, 1)
    assert (texas.nodes, texas.graph.nnz // 2, texas.X.shape[1], texas.splits) == (
        183,
        279,
        1703,
        10,
    )
    assert np.bincount(cora.training()[cora.training() >= 0]).tolist() == [20] * 7


class Harm:
    def __reduce__(self):
        return (exec, ("raise SystemExit('executed')",))


def arrays(**changes):
    usual = {"indptr": np.array([0, 1, 2]), "indices": np.array([1, 0]), "labels": np.array([0, 1])}
    return {k: v for k, v in (usual | changes).items() if v is not None}


BAD_FILES = {
    "no edges": arrays(indptr=None),
    "no columns": arrays(indices=None),
    "a column too far": arrays(indices=np.array([1, 7])),
    "a negative column": arrays(indices=np.array([1, -7])),
    "rows that do not end": arrays(indptr=np.array([0, 1, 9])),
    "rows that go back": arrays(indptr=np.array([0, 5, 2])),
    "fractions": arrays(indices=np.array([0.5, 1.5])),
    "too few labels": arrays(labels=np.array([0])),
    "fractions as labels": arrays(labels=np.array([0.5, 1])),
    "features of other nodes": arrays(x_dense=np.ones((3, 1))),
    "features that are no numbers": arrays(x_dense=np.array([["a"], ["b"]])),
    "sparse features without a shape": arrays(
        x_indptr=np.array([0, 0, 0]), x_indices=np.array([], int)
    ),
    "masks that are not packed": arrays(train=np.array([[True, False]])),
    "weights of other edges": arrays(weights=np.ones(7)),
    "objects": arrays(labels=np.array([Harm(), Harm()], object)),
    "half an instance": arrays(model=np.ones(4)),
    "no rows": arrays(indptr=np.array([], int)),
    "weights that are words": arrays(weights=np.array(["1", "1"])),
    "weights that are complex": arrays(weights=np.array([1.0, 1j])),
    "splits of unequal number": arrays(
        train=np.zeros((2, 1), np.uint8), test=np.zeros((1, 1), np.uint8)
    ),
    "names of other nodes": arrays(names=np.array(["a"])),
    "one name for two nodes": arrays(names=np.array(["a", "a"])),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_arrays_are_refused_in_a_sentence(tmp_path, content):
    np.savez(tmp_path / "bad.npz", **content)
    with pytest.raises(gl.ParameterError):
        real.read(tmp_path / "bad.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", pickle.dumps(Harm()), b"text"])
def test_what_is_no_file_of_arrays_is_refused(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(gl.ParameterError, match="cannot be read"):
        real.read(tmp_path / "bad.npz")


def test_a_head_that_is_a_program_is_no_plain_array(tmp_path):
    np.savez(tmp_path / "bad.npz", x=np.ones(100))
    whole = (tmp_path / "bad.npz").read_bytes()
    begin = whole.index(b"{'descr'")
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as file:
        inside = whole[whole.index(b"\x93NUMPY") : begin] + b"print('executed')\n".rjust(118)
        file.writestr("x.npy", inside)
    with pytest.raises(gl.ParameterError, match=r"it is not an \.npz file of plain arrays$"):
        real.read(tmp_path / "bad.npz")


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path):
    path, rng, data = tmp_path / "g.npz", np.random.default_rng(1), small(weights=True)
    real.write(data, path)
    whole = path.read_bytes()
    for _ in range(100):
        flipped = bytearray(whole)
        flipped[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        try:
            same(data, real.read(path))
        except gl.ParameterError:
            continue


@pytest.mark.parametrize("shape", [(10**14,), (2**70,), (-3,)])
def test_a_field_that_claims_a_shape_it_does_not_have_is_refused(tmp_path, shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    np.savez(tmp_path / "g.npz", **arrays())
    with zipfile.ZipFile(tmp_path / "g.npz", "a") as file:
        file.writestr("x_dense.npy", header.getvalue() + bytes(64))
    for read in (real.read, gl.Instance.load):
        with pytest.raises(gl.ParameterError, match="cannot be read as"):
            read(tmp_path / "g.npz")


@pytest.mark.parametrize("kind", ["|V0", "|S0", "<U0"])
def test_entries_without_a_size_are_refused(tmp_path, kind):
    """Their header may claim any number of them at no cost; a copy as numbers would take all memory."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": kind, "fortran_order": False, "shape": (10**11,)}
    )
    np.savez(tmp_path / "g.npz", **arrays(labels=None))
    with zipfile.ZipFile(tmp_path / "g.npz", "a") as file:
        file.writestr("labels.npy", header.getvalue())
    for read in (real.read, gl.Instance.load):
        with pytest.raises(gl.ParameterError, match="cannot be read as"):
            read(tmp_path / "g.npz")


BAD_TABLES = {
    "an edge from nowhere": (",1\n", "node,x\n0,1\n1,2\n"),
    "empty": ("", None),
    "one column": ("a\nb\n", None),
    "unequal rows": ("0,1\n1,2,3\n", None),
    "a weight that is a word": ("0,1,x\n", None),
    "a node twice": ("0,1\n", "node,x\n0,1\n1,2\n0,3\n"),
    "a feature that is a word": ("0,1\n", "node,x\n0,1\n1,tall\n"),
    "dates": ("0,1\n", "node,born\n0,01/02/2001\n1,03/04/2002\n"),  # day or month first
    "too many words": ("0,1\n", "node,x\n" + "".join(f"{k},word{k}\n" for k in range(21))),
    "two columns of classes": ("0,1\n", "node,label,class\n0,a,b\n1,c,d\n"),
    "a fourth column": ("0,1,2,3\n", None),
    "a date as a weight": ("source,target,date\n0,1,2024-01-01\n", None),
    "a negative weight": ("0,1,-2\n", None),
    "two columns of one name": ("0,1\n", "node,x,x\n0,1,1\n1,2,2\n"),
    "a loop alone": ("0,0\n", None),
}


@pytest.mark.parametrize("edges, nodes", BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_refused_in_a_sentence(tmp_path, edges, nodes):
    (tmp_path / "e.csv").write_text(edges)
    if nodes is not None:
        (tmp_path / "n.csv").write_text(nodes)
    with pytest.raises(gl.ParameterError):
        real.read(tmp_path / "e.csv", None if nodes is None else tmp_path / "n.csv")


def from_graph(**attributes):
    graph = networkx.path_graph(3)
    graph.nodes[1].update(attributes)
    return real.from_networkx(graph)


def from_data(**changes):
    usual = {"edge_index": np.array([[0, 1], [1, 2]]), "num_nodes": 3, "y": np.array([0, 1, 0])}
    return real.from_pyg(SimpleNamespace(**usual | changes))


def of_two(**parts):
    return real.Dataset([[0, 1], [1, 0]], None, [0, 1], **parts)


class PathOfBytes:
    """A path that is no text."""

    def __fspath__(self):
        return b"g.npz"


PAIR = real.Dataset(real.from_edges([[0, 1]]), None, np.array([0, 1]))
BAD_CALLS = {
    "y contains 2.5": lambda: from_graph(label=2.5),
    r"y contains \[1\]": lambda: from_graph(label=[1]),
    r"y has shape \(3, 3\)": lambda: from_data(y=np.eye(3)),
    r"y has shape \(2,\)": lambda: from_data(y=np.array([0, 1])),
    "y contains 0.5": lambda: from_data(y=np.array([0.5, 1, 0])),
    "train has dtype bool and shape": lambda: from_data(train_mask=np.array([True])),
    "graph needs nodes": lambda: gl.estimate(None, [0, 1], networkx.Graph()),
    "y reaches -1152921504606846976": lambda: real.Dataset([[0, 1], [1, 0]], None, [-(2**60), 1]),
    r"names = \['a'\] are not 2 different words": lambda: of_two(names=["a"]),
    "names = .* are not 2": lambda: of_two(names=np.zeros(2, [("a", float)])),
    "Dataset needs a tuple or a list, got str": lambda: of_two(notes="joined"),
    "path = <.*PathOfBytes.*> is not allowed": lambda: real.read(PathOfBytes()),
    "path = b'g.npz'": lambda: real.write(PAIR, b"g.npz"),
    r"path = '\\ud800.npz'": lambda: real.write(PAIR, "\ud800.npz"),
    r"y contains np.timedelta64\(1,'s'\)": lambda: from_graph(label=np.timedelta64(1, "s")),
    "x must be a rectangular array": lambda: from_graph(x=[[1.0], [1.0, 2.0]]),
    r"no node has the attribute array\(\[1., 2.\]\)": lambda: real.from_networkx(
        networkx.path_graph(3), label=np.array([1.0, 2.0])
    ),
    "a field of data must be a rect": lambda: from_data(y=[[1], [1, 2]]),
    r"X has shape \(1,\)": lambda: from_data(x=np.array(1.0)),
    "path = None": lambda: real.read(None),
    "nodes = 3": lambda: real.read("e.csv", 3),
    "path = 3.5": lambda: real.write(PAIR, 3.5),
    "write needs a Dataset": lambda: real.write(None, "g.npz"),
    "to_networkx needs a Dataset": lambda: real.to_networkx(None),
    "to_pyg needs a Dataset": lambda: real.to_pyg("g"),
    "edges must be a rectangular array": lambda: real.from_edges([[1, 2], [3]]),
    "edges has masked entries": lambda: real.from_edges(
        np.ma.masked_array([[0, 1], [1, 2]], [[0, 0], [1, 0]])
    ),
    "edges name the node -1": lambda: real.from_edges([[0, -1]]),
    "weights must be real numbers": lambda: real.from_edges([[0, 1]], weights=["a"]),
    "nodes = 2.5": lambda: real.from_edges([[0, 1]], nodes=2.5),
    "a graph of 1e.18 nodes needs": lambda: real.from_edges([[0, 10**18]]),
}


@pytest.mark.parametrize("sentence, call", BAD_CALLS.items(), ids=BAD_CALLS)
def test_a_wrong_argument_is_named(sentence, call):
    with pytest.raises(gl.ParameterError, match=sentence):
        call()


def test_a_file_without_labels_says_where_to_give_them(tmp_path):
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nc,a\n")
    (tmp_path / "nodes.csv").write_text("id,age\na,1\nb,2\nc,4\n")
    edges, nodes = (str(tmp_path / name) for name in ("edges.csv", "nodes.csv"))
    with pytest.raises(gl.ParameterError, match="has no labels; give them in a table of nodes"):
        read_labelled(edges)
    with pytest.raises(gl.ParameterError, match="; name the column of the classes by"):
        read_labelled(edges, nodes)
    assert read_labelled(edges, nodes, label="age").y.size == 3


def test_attributes_of_edges_that_are_not_weights_are_noted():
    assert from_data().notes == ()
    (note,) = from_data(edge_attr=np.ones((2, 1))).notes
    assert note == "Left out edge_attr; weights of edges are those of edge_weight."


@pytest.mark.parametrize("layout", ["to_sparse", "bfloat16"])
def test_tensors_of_any_layout_are_features(layout):
    """Whole numbers, which the precision of any layout holds."""
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(3, 2)
    assert from_data(x=getattr(x, layout)()).X.tolist() == x.tolist()


def test_names_of_attributes_may_be_columns_of_pandas_and_classes_may_not_be_lists():
    graph = networkx.path_graph(3)
    for node in graph:
        graph.nodes[node].update(age=20.0 + node, size=node % 2, label=["a", "b"])
    with pytest.raises(gl.ParameterError, match=r"y contains \['a', 'b'\]"):
        real.from_networkx(graph, features=["age"])
    networkx.set_node_attributes(graph, {0: 0, 1: 1}, "kind")
    read = real.from_networkx(graph, features=pandas.Index(["age", "size"]), label="kind")
    assert read.X.tolist() == [[20.0, 0.0], [21.0, 1.0], [22.0, 0.0]]


def test_a_table_may_begin_with_a_column_of_lists():
    edges = pandas.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"]})
    nodes = pandas.DataFrame({"tags": [[1], [2], [1]], "id": ["a", "b", "c"], "label": [0, 1, 0]})
    assert real.read(edges, nodes, drop="tags").y.tolist() == [0, 1, 0]


def test_graphs_of_other_packages_are_told_how_they_are_converted():
    other = SimpleNamespace(to_networkx=lambda: networkx.path_graph(3))
    with pytest.raises(gl.ParameterError, match=r"its to_networkx\(\) makes one"):
        real.from_networkx(other)
    assert real.from_networkx(other.to_networkx()).nodes == 3
    with pytest.raises(gl.ParameterError, match=r"to_homogeneous\(\) makes one"):
        real.from_pyg(SimpleNamespace(edge_index=None))


@pytest.mark.parametrize("given", [{"label": "role"}, {"drop": ["age"]}, {"undirected": True}])
def test_an_npz_file_says_which_option_it_does_not_take(tmp_path, given):
    real.write(real.Dataset([[0, 1], [1, 0]], None, [0, 1]), tmp_path / "g.npz")
    (name,) = given
    with pytest.raises(gl.ParameterError, match=rf"^--{name} .* is for a list of edges; an .npz"):
        real.read(tmp_path / "g.npz", **given)
