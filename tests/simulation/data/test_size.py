"""Memory that is asked for before anything is drawn or trained."""

import tracemalloc

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.simulation.data.size import Size, training_bytes
from gcnlimit.simulation.train.train import train


def test_each_point_of_a_training_holds_its_weights_and_outputs():
    size = Size(nodes=1000, features=250.0, degree=30.0, streamed=False, dtype=np.dtype(float))
    none, one, two = (training_bytes(size, 100.0, points, rows=False) for points in range(3))
    assert two - one == pytest.approx(one - none)
    assert one - none >= 8 * (1000 + 250)


def test_each_point_on_a_device_holds_columns_for_each_direction_of_its_classes():
    """A point more takes as much as any other, and C - 1 columns take C - 1 times as much, beside what all share."""

    def taken(points, directions):
        size = Size(1000, 250.0, 30.0, False, np.dtype(float), directions=directions)
        return size.device_bytes(points)

    more = taken(2, 1) - taken(1, 1)
    assert more >= 8 * 1000
    for points, directions in ((1, 1), (3, 1), (1, 4), (5, 2)):
        shared = taken(points, directions) - points * directions * more
        assert shared == pytest.approx(taken(1, 1) - more)
    assert taken(1, 1) - more > 30 * 1000 * 8  # the graph


def test_a_graph_takes_memory_in_proportion_to_its_edges_and_to_the_directions_of_its_classes():
    def taken(degree, directions):
        return Size(1000, 250.0, degree, False, np.dtype(float), directions=directions).bytes()

    first = taken(30.0, 2) - taken(30.0, 1)
    assert first >= 8 * (1000 + 250)  # codes of the nodes, class means
    assert taken(30.0, 5) - taken(30.0, 1) == pytest.approx(4 * first)
    more = taken(4000.0, 1) - taken(3000.0, 1)
    assert more >= 8 * 1000 * 1000  # the weight of each edge
    assert taken(5000.0, 1) - taken(3000.0, 1) == pytest.approx(2 * more)
    assert Size(1000, 250.0, None, False, np.dtype(float)).edges == 1000**2
    assert Size(1000, 250.0, 30.0, False, np.dtype(float)).edges == 30 * 1000


def test_training_rows_take_memory_for_each_labelled_node():
    size = Size(nodes=1000, features=250.0, degree=30.0, streamed=False, dtype=np.dtype(float))
    few, many = (training_bytes(size, labelled, 1, rows=True) for labelled in (100.0, 200.0))
    assert many - few >= 8 * 100 * 250
    assert few > training_bytes(size, 100.0, 1, rows=False) + 8 * 100 * 250


def test_streamed_rows_are_propagated_on_every_node():
    """However many there are: a column for each labelled node, twice."""
    size = Size(nodes=10**6, features=2e4, degree=5.0, streamed=True, dtype=np.dtype(float))
    none, some = (training_bytes(size, 1e4, 1, rows=rows) for rows in (False, True))
    assert some - none >= 2 * 8 * 10**6 * 1e4


@pytest.mark.parametrize(
    "nodes, data, loss, threads",
    [
        (3000, gl.CSBM(2, 1, 1, 0.3), "square", 1),
        (3000, gl.CSBM(2, 1, 1, 0.3), "logistic", 4),
        (6000, gl.CSBM(4, 1, 1, 0.1), "square", 4),
    ],
)
def test_training_takes_the_memory_that_is_expected(nodes, data, loss, threads, monkeypatch):
    """At most so much, and no less than a third: else large graphs would be refused for nothing."""
    monkeypatch.setenv("GCNLIMIT_THREADS", str(threads))
    seen = gl.sample(data, nodes, 10, seed=0).observation
    width = seen.features.shape[1]
    size = Size(nodes, width, seen.degree, False, seen.features.dtype, "cpu", 1)
    expected = training_bytes(size, int(seen.train_mask.sum()), points=1, rows=True)
    tracemalloc.start()
    train(seen, gl.GCN(gl.Residual([1.0, 1.0]), loss, 1.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert expected / 3.0 < peak < expected


@pytest.mark.parametrize(
    "data, nodes, degree",
    [
        (gl.CSBM(1, 1.0, 1, 0.1), 2000, 10),  # features
        (gl.CSBM(4, 0.1, 1, 0.1), 700, None),  # a dense matrix
        (gl.CSBM(500, 0.5, 1, 0.1), 4000, 30),  # edges
        (gl.CSBM(500, 0.1, 1, 0.1, classes=40), 4000, 2),  # codes of the classes
    ],
)
def test_an_instance_takes_the_memory_and_has_the_edges_that_are_expected(
    monkeypatch, data, nodes, degree
):
    """Of what takes most of it, up to a third; edges within four standard errors of their number."""
    monkeypatch.setenv("GCNLIMIT_THREADS", "1")  # each holds a tile of features
    size = Size.of(data, nodes, degree, streamed=False, dtype=None)
    gl.sample(data, nodes, degree, seed=1)  # what is kept between draws is there
    tracemalloc.start()
    adjacency = gl.sample(data, nodes, degree, seed=0).adjacency
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * size.bytes() < peak < 1.33 * size.bytes()
    edges = adjacency.size if degree is None else adjacency.nnz
    assert abs(edges - size.edges) <= (0.0 if degree is None else 4.0 * np.sqrt(size.edges))
