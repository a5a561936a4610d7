"""What is wrong is said in a sentence; what is unusual but meaningful is answered."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gcnlimit as gl

pytestmark = pytest.mark.usefixtures("few_trees")
N = 30
rng = np.random.default_rng(0)
CLASSES = np.arange(N) % 2
X = rng.standard_normal((N, 4)) + CLASSES[:, None]
A = np.triu(rng.random((N, N)) < np.where(CLASSES[:, None] == CLASSES, 0.4, 0.1), 1).astype(float)
A = A + A.T
Y = np.where(np.arange(N) < 20, CLASSES, -1)


def changed(array, value, where=(0, 0), dtype=None):
    new = array.astype(dtype or array.dtype, copy=True)
    new[where] = value
    return new


def broken(array, part, value):
    """Sparse matrix one of whose indices leads outside of it."""
    matrix = sparse.csr_array(array)
    getattr(matrix, part)[1] = value
    return matrix


def of_objects():
    """Sparse matrix with what SciPy itself refuses, unless it is put there afterwards."""
    matrix = sparse.coo_array(A)
    matrix.data = np.full(matrix.nnz, "a", object)
    return matrix


BAD_X = {
    "sparse, a column too far": broken(X, "indices", 10**6),
    "sparse, a negative column": broken(X, "indices", -5),
    "sparse, rows beyond the end": broken(X, "indptr", 10**6),
    "out of the range of squares": 1e-200 * X,
    "masked": np.ma.masked_array(X, X > 1.0),
    "a nan": changed(X, np.nan),
    "infinity": changed(X, np.inf),
    "minus infinity": changed(X, -np.inf),
    "too few rows": X[:-1],
    "too many rows": np.vstack([X, X[:1]]),
    "one axis": X[:, 0],
    "three axes": X[..., None],
    "no column": X[:, :0],
    "no row": X[:0],
    "complex": X + 1j,
    "strings": np.full((N, 4), "a"),
    "objects": np.full((N, 4), object(), object),
    "dates": np.full((N, 4), np.datetime64("2020-01-01")),
    "unequal rows": [[1.0]] * (N - 1) + [[1.0, 2.0]],
    "a number": 3.0,
    "a word": "features",
    "a dictionary": {"x": 1},
    "transposed": X.T,
    "sparse with a nan": sparse.csr_array(changed(X, np.nan)),
    "sparse, too few rows": sparse.csr_array(X[:-1]),
    "sparse, complex": sparse.csr_array(X + 1j),
    "bytes": np.full((N, 4), b"a"),
    "a list of None": [[None] * 4] * N,
}
BAD_Y = {
    "lists": [*([[0], [1]] * (N // 2 - 1)), [0], None],
    "masked": np.ma.masked_array(Y, Y == 1),
    "none": None,
    "no label": np.full(N, -1),
    "no label, nan": np.full(N, np.nan),
    "no label, None": np.full(N, None),
    "one class": np.where(Y == 1, -1, Y),
    "one class after -1 is unlabelled": 2 * CLASSES - 1,
    "fractions": Y + 0.5,
    "infinity": changed(Y, np.inf, 0, float),
    "too short": Y[:-1],
    "too long": np.append(Y, 0),
    "two axes": np.stack([Y, Y], axis=1),
    "a column": Y[:, None],
    "one-hot": np.eye(2)[CLASSES],
    "complex": Y + 1j,
    "mixed": np.array([0, "a"] * (N // 2), object),
    "a number": 1,
    "a word": "labels",
    "dates": np.full(N, np.datetime64("2020-01-01")),
    "unequal rows": [[1], [1, 2]] * (N // 2),
    "one class of strings": np.full(N, "a"),
    "one class of booleans": np.ones(N, bool),
    "empty": np.array([]),
    "sparse": sparse.csr_array(Y[:, None]),
    "bytes": np.array([b"a", b"b"] * (N // 2)),
    "bytes that are no text": [b"\xff", b"\xfe"] * (N // 2),
    "sets": [frozenset([0]), frozenset([1])] * (N // 2),
}
BAD_GRAPH = {
    "sparse, a column too far": broken(A, "indices", N),
    "sparse, rows beyond the end": broken(A, "indptr", 10**6),
    "sparse, rows that go back": broken(A, "indptr", -7),
    "sparse, of objects": of_objects(),
    "sparse, of more nodes than a memory holds": sparse.coo_array(
        ([1.0], ([0], [1])), shape=(10**13, 10**13)
    ),
    "masked": np.ma.masked_array(A, A > 0.0),
    "no edge": np.zeros((N, N)),
    "self loops alone": np.eye(N),
    "a nan": changed(A, np.nan),
    "weights out of the range of squares": 1e160 * A,
    "weights that vanish when squared": 1e-160 * A,
    "infinity": changed(A, np.inf),
    "not square": A[:, :-1],
    "too few nodes": A[:-1, :-1],
    "too many nodes": np.pad(A, (0, 1)),
    "edges in rows": np.argwhere(A),
    "edges in columns": np.argwhere(A).T,
    "one axis": A[0],
    "three axes": A[None],
    "complex": A + 0j,
    "strings": np.full((N, N), "a"),
    "objects": np.full((N, N), object(), object),
    "a number": 1.0,
    "a word": "graph",
    "unequal rows": [[0, 1], [1]],
    "empty": np.zeros((0, 0)),
    "negative weights": A * np.where(CLASSES[:, None] == CLASSES, 1, -1),
    "sparse with a nan": sparse.csr_array(changed(A, np.nan)),
    "sparse, not square": sparse.csr_array(A[:, :-1]),
    "sparse, too few nodes": sparse.csr_array(A[:-1, :-1]),
    "sparse, complex": sparse.csr_array(A + 0j),
    "sparse, no edge": sparse.csr_array((N, N)),
    "a list of neighbours": [[1, 2], [0], [0]],
    "a dictionary": {0: [1]},
    "booleans, no edge": np.zeros((N, N), bool),
    "X in place of the graph": X,
}
BAD_OPTIONS = [
    {"filter": "gcn"},
    {"filter": 3},
    {"filter": None},
    {"filter": gl.PageRank([0.1, 0.2])},
    {"filter": gl.PageRank(0.5), "strengths": [0.5]},
    {"normalization": "laplacian"},
    {"normalization": None},
    {"deploy": "best"},
    {"strengths": [1.0]},
    {"strengths": [np.nan]},
    {"strengths": np.linspace(-2.0, 2.0, 200)},
    {"strengths": []},
    {"strengths": "strong"},
    {"filter": "hops"},
    {"reg": 0.0},
    {"reg": -1.0},
    {"reg": []},
    {"reg": np.nan},
    {"reg": np.inf},
    {"reg": "small"},
    {"scale": "unit"},
    {"scale": 1},
    {"class_weight": "equal"},
    {"class_weight": {0: -1.0}},
    {"class_weight": {0: 0.0}},
    {"class_weight": 2.0},
]
MALFORMED = [
    *(pytest.param({"X": value}, {}, id=f"X {name}") for name, value in BAD_X.items()),
    *(pytest.param({"y": value}, {}, id=f"y {name}") for name, value in BAD_Y.items()),
    *(pytest.param({"graph": value}, {}, id=f"graph {name}") for name, value in BAD_GRAPH.items()),
    *(pytest.param({}, value, id=f"option {k}") for k, value in enumerate(BAD_OPTIONS)),
]


@pytest.mark.parametrize("changes, options", MALFORMED)
def test_what_is_malformed_is_refused_in_a_sentence(changes, options):
    with pytest.raises(gl.ParameterError) as caught:
        gl.FilterClassifier(**options).fit(**({"X": X, "y": Y, "graph": A} | changes))
    text = str(caught.value)
    assert 20 < len(text) < 300
    assert "\n" not in text
    assert any(name in text for name in (*changes, *options, "X", "y has", "graph"))


BOTH_SIGNS = {"no label", "one class after -1 is unlabelled", "a column", "one class"}
WITHOUT_GRAPH = [
    *(pytest.param({"X": value}, id=f"X {name}") for name, value in BAD_X.items()),
    *(
        pytest.param({"y": value}, id=f"y {name}")
        for name, value in BAD_Y.items()
        if name not in BOTH_SIGNS  # -1 is a class where there is no graph
    ),
]


@pytest.mark.filterwarnings("ignore:there is no graph")
@pytest.mark.parametrize("changes", WITHOUT_GRAPH)
def test_without_a_graph_it_is_refused_in_a_sentence_too(changes):
    with pytest.raises(gl.ParameterError) as caught:
        gl.GraphClassifier().fit(**({"X": X, "y": CLASSES} | changes))
    assert 20 < len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:there is no graph")
@pytest.mark.parametrize("name", [name for name in BAD_X if "rows" not in name])
def test_new_nodes_without_a_graph_are_refused_in_a_sentence(name):
    fitted = gl.GraphClassifier().fit(X, CLASSES)
    with pytest.raises(gl.ParameterError) as caught:
        fitted.predict(BAD_X[name])
    assert 20 < len(str(caught.value)) < 300


DOORS = (gl.estimate, gl.recommend, gl.describe)
COMMON = [
    *(pytest.param({"X": value}, id=f"X {name}") for name, value in BAD_X.items()),
    *(pytest.param({"y": value}, id=f"y {name}") for name, value in BAD_Y.items()),
    *(pytest.param({"graph": value}, id=f"graph {name}") for name, value in BAD_GRAPH.items()),
    pytest.param({"y": np.where(np.arange(N) < 2, CLASSES, -1)}, id="y two labels"),
]


@pytest.mark.parametrize("changes", COMMON)
def test_every_door_refuses_it_in_a_sentence(changes):
    for door in DOORS:
        with pytest.raises(gl.ParameterError) as caught:
            door(**({"X": X, "y": Y, "graph": A} | changes))
        assert 20 < len(str(caught.value)) < 300
        assert "\n" not in str(caught.value)


UNUSUAL = {
    "isolated nodes": {"graph": A * (np.arange(N)[:, None] < 15) * (np.arange(N) < 15)},
    "self loops": {"graph": A + np.eye(N)},
    "weights": {"graph": A * (0.5 + rng.random())},
    "huge weights": {"graph": 1e12 * A},
    "one direction": {"graph": np.triu(A)},
    "booleans": {"graph": A > 0},
    "integers": {"graph": A.astype(np.int8)},
    "one edge": {"graph": np.pad([[0.0, 1.0], [1.0, 0.0]], (0, N - 2))},
    "complete": {"graph": 1.0 - np.eye(N)},
    "constant columns": {"X": np.column_stack([X, np.ones(N)])},
    "only constant columns": {"X": np.ones((N, 2))},
    "columns of zeros": {"X": np.column_stack([X, np.zeros(N)])},
    "rows of zeros": {"X": X * (np.arange(N)[:, None] > 5)},
    "huge features": {"X": 1e9 * X},
    "tiny features": {"X": 1e-9 * X},
    "integers as features": {"X": np.round(X).astype(int)},
    "booleans as features": {"X": X > 0},
    "objects that are numbers": {"X": X.astype(object)},
    "no features": {"X": None},
    "all labelled": {"y": CLASSES},
    "one label of a class": {"y": np.where((CLASSES == 1) & (np.arange(N) > 2), -1, Y)},
    "two labels": {"y": np.where(np.arange(N) < 2, CLASSES, -1)},
    "strings": {"y": np.where(CLASSES == 1, "one", "zero")},
    "booleans as classes": {"y": CLASSES == 1},
    "a list": {"y": Y.tolist()},
    "missing values of pandas": {"y": pd.Series(Y, dtype="Int64").replace(-1, pd.NA)},
    "classes far apart": {"y": np.where(Y == 1, 10**9, Y)},
    "single precision": {"X": X.astype(np.float32), "graph": A.astype(np.float32)},
    "columns one after the other": {"X": np.asfortranarray(X)},
    "sparse features": {"X": sparse.csc_array(X)},
    "names twice": {"X": pd.DataFrame(X, columns=["a", "a", "b", "c"])},
    "names of two types": {"X": pd.DataFrame(X, columns=["a", 1, ("b", 2), None])},
}


FORMS = ("single precision", "columns one after the other", "sparse features")
NAMES = ("names twice", "names of two types")


@pytest.mark.parametrize("changes", UNUSUAL.values(), ids=UNUSUAL)
@pytest.mark.parametrize("filter", ["pagerank", "diffusion"])
@pytest.mark.filterwarnings("ignore:graph has 30 self-loops")
def test_what_is_unusual_is_answered(changes, filter):
    given = {"X": X, "y": Y, "graph": A} | changes
    model = gl.FilterClassifier(filter).fit(**given)
    assert np.isfinite(model.decision_function()).all()
    known = np.isin(model.predict(), model.classes_)
    assert known.all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", [name for name in UNUSUAL if name not in ("two labels", "complete", "no features")]
)
def test_what_is_unusual_is_estimated(name):
    found = gl.estimate(**({"X": X, "y": Y, "graph": A} | UNUSUAL[name]))
    assert np.isfinite([found.lam, found.mu, found.lam_error, found.mu_error]).all()
    assert found.lam_error > 0


@pytest.mark.filterwarnings("ignore:graph has 30 self-loops")
@pytest.mark.parametrize("name", ["self loops", "integers", "booleans", *FORMS, *NAMES])
def test_the_form_of_the_table_does_not_matter(name):
    usual = gl.GraphClassifier().fit(X, Y, graph=A)
    other = gl.GraphClassifier().fit(**({"X": X, "y": Y, "graph": A} | UNUSUAL[name]))
    assert np.allclose(usual.decision_function(), other.decision_function(), atol=1e-5)


@pytest.mark.filterwarnings("ignore:there is no graph")
@pytest.mark.parametrize("name", NAMES)
def test_without_a_graph_the_names_of_columns_do_not_matter_either(name):
    named = UNUSUAL[name]["X"]
    found = gl.GraphClassifier().fit(named, CLASSES).predict_proba(named)
    assert np.allclose(found, gl.GraphClassifier().fit(X, CLASSES).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    "model", [np, iter([1]), gl.GradientDescent(5, 0.1), "x", gl.GraphClassifier]
)
def test_what_is_no_model_is_refused_in_a_sentence(model):
    """It is looked at before it is copied, which a module and an iterator do not let one do."""
    with pytest.raises(gl.ParameterError, match="takes no graph"):
        gl.cross_validate(model, X, Y, A, folds=2)
