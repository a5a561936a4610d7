"""The backend of PyTorch, on its processor device or on a graphics card, against NumPy and against the theory."""

import math
import os

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2

import gcnlimit as gl
from gcnlimit._runtime.processes import run
from gcnlimit.simulation.backend import backend_of
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.data.sample import bernoulli_graph
from gcnlimit.simulation.data.size import Size

torch = pytest.importorskip("torch")
DEVICE = os.environ.get("GCNLIMIT_TEST_DEVICE", "torch:cpu")  # "cuda" tests a graphics card


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("n", [15, 16])
def test_every_pair_has_its_probability(directed, n):
    kinds, backend, draws = np.arange(n) % 3 // 2, backend_of(DEVICE), 1000
    rng = backend.rng(np.random.SeedSequence(1))
    between = np.array([[0.5, 0.2], [0.2, 0.4]])
    total = sum(
        bernoulli_graph(kinds, between, directed, rng, backend).toarray() for _ in range(draws)
    )
    p = between[kinds[:, None], kinds]
    z = (total - draws * p) / np.sqrt(draws * p * (1 - p))
    cells = z if directed else z[np.triu_indices(n)]
    assert np.abs(cells).max() < 5
    assert 1e-4 < chi2.cdf(np.sum(cells**2), df=cells.size) < 1 - 1e-4


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_filters_act_as_on_the_processor(data, symmetrize, dense):
    A = gl.sample(data, nodes=200, degree=None if dense else 20, seed=1).adjacency
    a, b = (Operator.of(A, None if dense else 20, symmetrize, device=d) for d in ("cpu", DEVICE))
    block, backend = np.random.default_rng(0).standard_normal((200, 2)), backend_of(DEVICE)
    for g in (
        gl.Diffusion([1.0, 2.0]),
        gl.PageRank([0.3, 0.2]),
        gl.Residual([[1.0, 0.5], [0.2, 0.3]]),
    ):
        for one, other in ((a, b), (a.T, b.T)):
            shared, own = (
                g.apply(one, block, radius=a.radius),
                g.apply_each(one, block, radius=a.radius),
            )
            there = backend.place(block)
            assert np.allclose(
                backend.host(g.apply(other, there, radius=b.radius)), shared, atol=1e-9
            )
            assert np.allclose(
                backend.host(g.apply_each(other, there, radius=b.radius)), own, atol=1e-9
            )
    assert (
        b.radius == pytest.approx(a.radius) if symmetrize else b.growth == pytest.approx(a.growth)
    )


@pytest.mark.parametrize("weights", [1.0, np.arange(1.0, 100.0), np.arange(2.0, 101.0)])
def test_the_transpose_of_a_large_graph_is_that_of_scipy(weights):
    nodes, rng = 100_000, np.random.default_rng(0)  # the square does not fit into 32 bits
    places = rng.choice(nodes, (2, 99), replace=False)
    A = sparse.coo_array((np.broadcast_to(weights, 99), places), shape=(nodes, nodes)).tocsr()
    backend, v = backend_of(DEVICE), rng.standard_normal(nodes)
    found = backend.sparse(A, 0.5, False, np.dtype(float)).T @ backend.place(v)
    np.testing.assert_allclose(backend.host(found), 0.5 * (A.T @ v), rtol=1e-14)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_stored_features_train_as_on_the_processor(instance, loss):
    gcn = gl.GCN(gl.Diffusion([0.3, 0.8, 0.8]), loss, reg=[3.0, math.inf, 1.0])
    here, there = (gl.fit(instance, gcn, device=d) for d in ("cpu", DEVICE))
    assert np.allclose(here.weights, there.weights, atol=1e-8)
    assert np.allclose(here.outputs, there.outputs, atol=1e-8)


@pytest.mark.parametrize("infer", [gl.amp, gl.belief_propagation])
def test_inference_is_that_of_the_processor(instance, infer):
    here, there = (infer(instance, device=d, max_iterations=5) for d in ("cpu", DEVICE))
    assert np.allclose(here.labels, there.labels, atol=1e-8)


@pytest.mark.parametrize("by", ["layers", "system", "bethe", "labels"])
def test_linear_message_passing_is_that_of_the_processor(instance, by):
    here, there = (
        gl.linear_message_passing(instance, by=by, layers=5, device=d) for d in ("cpu", DEVICE)
    )
    assert np.allclose(here.labels, there.labels, atol=1e-8)


def test_a_simulation_agrees_with_the_theory():
    data, gcn = gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(0.5), reg=[10.0, math.inf])
    one, three = (
        gl.simulate(data, gcn, 500, 50, trials=6, device=DEVICE, workers=w) for w in (1, 2)
    )
    assert np.array_equal(one.test_accuracy, three.test_accuracy)
    deviation = one.test_accuracy - gl.predict(data, gcn).test_accuracy
    assert np.all(
        np.abs(deviation)
        < 4 * np.maximum(one.standard_error.test_accuracy, 0.3 / math.sqrt(6 * 450))
    )
    found = gl.amp(gl.sample(data, 2000, 50, device=DEVICE)).performance.test_accuracy
    assert abs(found - gl.bayes_optimal(data).test_accuracy) < 4 * 0.3 / math.sqrt(1800)


def test_features_belong_to_the_device_that_drew_them(data, tmp_path):
    instance = gl.sample(data, 200, 20, device=DEVICE)
    instance.save(tmp_path / "i.npz")
    assert np.array_equal(gl.Instance.load(tmp_path / "i.npz").features, instance.features)
    with pytest.raises(
        gl.ParameterError, match=rf"device = 'cpu' is not allowed: .* those of device = '{DEVICE}'"
    ):
        gl.fit(instance, gl.GCN(gl.Diffusion(1.0)), device="cpu")


@pytest.fixture
def small_memory(monkeypatch):
    """A function that lets blocks of more than so many features exceed the memory."""
    empty = torch.empty

    def at_most(features):
        def full(shape, **options):
            if isinstance(shape, tuple) and shape[0] > features:
                raise torch.OutOfMemoryError
            return empty(shape, **options)

        monkeypatch.setattr(torch, "empty", full)

    return at_most


def test_blocks_shrink_until_they_fit_and_the_answer_stays(data, small_memory):
    instance = gl.sample(data, 1200, 20, device=DEVICE, dtype=np.float64)
    gcn = gl.GCN(gl.Diffusion(1.0), "square", reg=[math.inf, 10.0])

    def answers():
        return (
            np.asarray(instance.features),
            gl.fit(instance, gcn).outputs,
            gl.amp(instance, max_iterations=3).labels,
        )

    whole = answers()
    small_memory(128)
    other = answers()
    assert np.array_equal(other[0], whole[0])
    assert all(np.allclose(x, y, rtol=0, atol=1e-10) for x, y in zip(other, whole, strict=True))


def test_too_little_memory_is_a_sentence_that_names_the_block(data, small_memory):
    instance, gcn = gl.sample(data, 1200, 20, device=DEVICE), gl.GCN(gl.Diffusion(1.0))
    small_memory(63)
    with pytest.raises(
        gl.ParameterError,
        match=r"too little memory.* a block of 64 features of 1200 nodes.*; take fewer",
    ):
        gl.fit(instance, gcn)


@pytest.mark.parametrize("room, together", [(0.5, 1), (2.5, 2), (99.0, 4)])
def test_as_many_trials_are_in_flight_as_the_memory_holds(data, monkeypatch, room, together):
    gcn, asked = gl.GCN(gl.Diffusion([1.0, 2.0])), []
    one = Size.of(data, 200, 20, None, None, DEVICE).device_bytes(points=2)
    monkeypatch.setattr(type(backend_of(DEVICE)), "free", lambda self: room * one)
    for name, value in (("MANY", 800), ("cores", lambda: 8)):
        monkeypatch.setattr(f"gcnlimit.simulation.simulate.{name}", value)

    def spy(tasks, workers, **options):
        asked.append(workers)
        return run(tasks, 1)

    monkeypatch.setattr("gcnlimit.simulation.simulate.run", spy)
    for trials in (2, 4):  # two are too few to pay for the start of a process
        gl.simulate(data, gcn, 200, 20, trials=trials, device=DEVICE)
    assert asked == [1, together]


def test_points_of_a_sweep_share_the_device_and_their_numbers_stay(data, monkeypatch):
    pytest.importorskip("xarray")
    shared, options = (
        [],
        {"data": data, "gcn": gl.GCN(gl.Diffusion(1.0)), "axes": {"lam": [0.5, 1.0]}},
    )
    monkeypatch.setattr(
        "gcnlimit.simulation.simulate.in_flight", lambda *size: shared.append(size) or 2
    )
    fixed = {"nodes": 200, "degree": 20, "trials": 3, "device": DEVICE}
    two, one = (gl.sweep("simulate", fixed=fixed, workers=w, **options) for w in (None, 1))
    assert shared[0][1:] == (1, 6)
    assert two.equals(one)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card")
def test_a_missing_graphics_card_is_a_sentence(instance):
    with pytest.raises(gl.GCNLimitError, match="device = 'cuda' cannot be used by PyTorch"):
        gl.fit(instance, gl.GCN(gl.Diffusion(1.0)), device="cuda")


@pytest.mark.parametrize("symmetrize", [True, False])
def test_a_training_that_stops_is_that_of_the_processor(data, symmetrize):
    """Weights at the same times on the same graph, from the first step to nearly the end."""
    instance = gl.sample(data, nodes=200, degree=20, seed=1)
    ways = (
        gl.GradientFlow([0.01, 1.0, 100.0]),
        gl.GradientDescent([1, 30, 1000], 0.02),
        gl.GradientDescent([1, 30, 1000], 0.02, 0.9),
    )
    for training in ways:
        gcn = gl.GCN(gl.PageRank(0.2), reg=0.02, symmetrize=symmetrize, training=training)
        here, there = (gl.fit(instance, gcn, device=d).weights for d in ("cpu", DEVICE))
        np.testing.assert_allclose(there, here, atol=1e-9 * np.abs(here).max())
