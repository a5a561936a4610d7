"""One graph, whichever door it comes through and whoever uses it."""

import importlib.util
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gcnlimit as gl
from gcnlimit import real
from gcnlimit.graphs.check import as_adjacency
from gcnlimit.graphs.labels import as_labels, class_weights
from gcnlimit.graphs.operator import centred
from gcnlimit.graphs.standard import StandardizedGraph

N = 12
RNG = np.random.default_rng(3)
WEIGHTS = np.where(RNG.random((N, N)) < 0.3, RNG.exponential(4.0, (N, N)), 0.0)
WEIGHTS[N - 1] = WEIGHTS[:, N - 1] = 0.0  # an isolated node
np.fill_diagonal(WEIGHTS, 0.0)
LOOPS = np.diag(RNG.random(N) * (np.arange(N) < 5))
X = RNG.standard_normal((N, 3))
Y = np.arange(N) % 2


def halves():
    """The entries with loops, each listed twice with half of its weight."""
    coo = sparse.coo_array(WEIGHTS + LOOPS)
    row, column = (np.tile(part, 2) for part in coo.coords)
    return np.tile(coo.data / 2, 2), row, column


def coo():
    weights, row, column = halves()
    return sparse.coo_array((weights, (row, column)), shape=(N, N))


def frames():
    weights, row, column = halves()
    edges = pd.DataFrame({"source": row, "target": column, "weight": weights})
    return edges, pd.DataFrame({"node": np.arange(N), "label": Y})


def networkx():
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(reversed(range(N)))  # listed in an order of its own
    graph.add_weighted_edges_from((int(i), int(j), w) for w, i, j in zip(*halves(), strict=True))
    return graph


def through_files(folder, suffix):
    frame, nodes = frames()
    frame.to_csv(folder / f"e{suffix}", index=False)
    nodes.to_csv(folder / f"n{suffix}", index=False)
    return real.read(folder / f"e{suffix}", folder / f"n{suffix}").graph


def through_arrays(folder):
    real.write(real.Dataset(coo(), X, Y), folder / "g.npz")
    return real.read(folder / "g.npz").graph


def through_pyg(folder):
    weights, row, column = halves()
    return real.from_pyg(
        SimpleNamespace(edge_index=np.stack([row, column]), num_nodes=N, edge_weight=weights)
    ).graph


DOORS = {
    "sparse": lambda folder: sparse.csr_array(WEIGHTS + LOOPS),
    "each entry twice": lambda folder: coo(),
    "column by column": lambda folder: coo().tocsc(),
    "dense": lambda folder: WEIGHTS + LOOPS,
    "a list": lambda folder: (WEIGHTS + LOOPS).tolist(),
    "a square data frame": lambda folder: pd.DataFrame(WEIGHTS + LOOPS),
    "networkx": lambda folder: networkx(),
    "from_networkx": lambda folder: real.from_networkx(networkx()).graph,
    "from_edges": lambda folder: real.from_edges(np.stack(halves()[1:]), N, halves()[0]),
    "from_pyg": through_pyg,
    "a data set": lambda folder: real.Dataset(coo(), None, Y).graph,
    "npz": through_arrays,
    "csv": lambda folder: through_files(folder, ".csv"),
    "csv.gz": lambda folder: through_files(folder, ".csv.gz"),
    "data frames": lambda folder: real.read(*frames()).graph,
}


def expected():
    """Centred operator of unit variance, by hand."""
    A = WEIGHTS / (np.sum(WEIGHTS**2) / np.sum(WEIGHTS))
    p = A.mean()
    return (A - p) / np.sqrt(N * p * (1.0 - p))


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_door_gives_every_user_the_same_operator(tmp_path, door):
    graph, eye = door(tmp_path), np.eye(N)
    assert np.allclose(as_adjacency(graph).toarray(), WEIGHTS, rtol=1e-12)
    used = {
        "estimate": StandardizedGraph.of(X, Y, graph).operator @ eye,
        "networks": centred(as_adjacency(graph), symmetric=False) @ eye,
        "simulation": gl.Instance.of(graph, X, 2 * Y - 1).observation.operator(False) @ eye,
    }
    for operator in used.values():
        assert np.allclose(operator, expected(), rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_door_gives_networks_the_same_operator(tmp_path, door):
    import torch

    from gcnlimit.nn import from_graph

    both = (expected() + expected().T) / np.sqrt(2.0)
    assert np.allclose(from_graph(door(tmp_path)) @ torch.eye(N), both, atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize("kind", ["paper", "degrees", "normalized"])
def test_the_unit_of_weights_plays_no_part_for_networks(kind):
    import torch

    from gcnlimit.nn import from_graph

    one, other = (from_graph(w * WEIGHTS, kind) @ torch.eye(N) for w in (1.0, 3000.0))
    assert np.allclose(one, other, atol=1e-5)
    with pytest.raises(
        gl.ParameterError,
        match="kind = 'papre' is not allowed; use 'paper', 'degrees' or 'normalized'",
    ):
        from_graph(WEIGHTS, "papre")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("unit", [1e-30, 3.0, 1e30])
def test_the_unit_of_weights_plays_no_part_for_anyone(unit):
    y = np.where(np.arange(N) < 9, Y, -1)
    one, other = (gl.estimate(X, y, w * WEIGHTS).lam for w in (1.0, unit))
    assert other == pytest.approx(one, rel=1e-10)
    one, other = (
        gl.GraphClassifier().fit(X, y, graph=w * WEIGHTS).decision_function() for w in (1.0, unit)
    )
    assert np.allclose(one, other, rtol=1e-8)


def test_what_was_dropped_is_said():
    data = real.Dataset(coo(), None, Y)
    assert data.notes == ("Dropped 5 self-loops.",)
    assert real.Dataset(data.graph, None, Y).notes == ()
    with pytest.warns(UserWarning, match="graph has 12 self-loops, which are dropped"):
        gl.GraphClassifier().fit(X, Y, graph=WEIGHTS + np.eye(N))


def test_graphs_drawn_from_the_model_keep_their_loops(tmp_path):
    """They are pairs like any other there; a user's graph has none."""
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.3), nodes=100, degree=20, seed=0)
    i.save(tmp_path / "i.npz")
    loops = int(i.adjacency.diagonal().sum())
    assert loops > 5
    assert (gl.Instance.load(tmp_path / "i.npz").adjacency != i.adjacency).nnz == 0
    mine = gl.Instance.of(i.adjacency, i.features, i.labels, i.train_mask).adjacency
    assert (mine + sparse.diags_array(i.adjacency.diagonal()) != i.adjacency).nnz == 0
    assert i.to_dataset().notes == (f"Dropped {loops} self-loops.",)


def test_a_graph_of_named_nodes_is_told_how_rows_are_taken():
    named = nx.relabel_nodes(networkx(), str)
    with pytest.warns(UserWarning, match="row k of X and y is taken for node k of graph"):
        as_adjacency(named)
    kept = real.from_networkx(named)
    assert kept.names.tolist() == [*named]
    assert real.from_networkx(networkx()).names.tolist() == [str(k) for k in range(N)]


def test_a_class_that_marks_missing_ones_is_warned_of():
    with pytest.warns(UserWarning, match="y has the class 'Unknown'; write None or ''"):
        found = as_labels(["a", "Unknown", "b"], 3)
    assert found.classes.size == 3


def test_weights_of_no_class_are_refused():
    found = as_labels([0, 1, 1], 3)
    with pytest.raises(
        gl.ParameterError, match=r"names no class; use those of the classes \[0, 1\]"
    ):
        class_weights(found, {"0": 2.0})
    assert class_weights(found, {0: 2.0, 7: 1.0}).tolist() == [1.5, 0.75, 0.75]
