import dataclasses
import math

import numpy as np
import pytest
from problems import LOSSES
from scipy import linalg

import gcnlimit as gl
from gcnlimit.simulation.train.products import Products
from gcnlimit.simulation.train.train import train


def dense(instance, symmetrize):
    a = instance.observation.operator(symmetrize)
    return a @ np.eye(a.shape[0])


@pytest.mark.parametrize("symmetrize", [True, False])
def test_ridge_is_the_textbook_solution(instance, symmetrize):
    f = gl.fit(instance, gl.GCN(gl.Residual([0.5, 1.0]), reg=2.0, symmetrize=symmetrize))
    a, n, mask = dense(instance, symmetrize), instance.labels.size, instance.train_mask
    F = (a + 0.5 * np.eye(n)) @ (a + np.eye(n)) @ instance.features / np.sqrt(n)
    w = np.linalg.solve(
        F[mask].T @ F[mask] + 2.0 * np.eye(F.shape[1]), F[mask].T @ instance.labels[mask]
    )
    assert np.allclose(f.weights, w, atol=1e-10)
    assert np.allclose(f.outputs, F @ w, atol=1e-9)
    margins = instance.labels * (F @ w)
    assert f.performance.test_accuracy == np.mean(margins[~mask] > 0)
    assert f.performance.train_loss == pytest.approx(np.mean((1 - margins[mask]) ** 2 / 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_linear_however_small_a_column(instance, dtype):
    """Also where it is 0, or so small that single precision would lose it on the way."""
    seen = dataclasses.replace(instance.observation, features=instance.features.astype(dtype))
    products = Products(seen, seen.operator(True), "cpu")
    column = np.random.default_rng(0).standard_normal(instance.train_mask.sum())
    sizes = np.array([1.0, 0.0, 1e-60, 3.0])
    found = products.gram(np.outer(column, sizes), gl.Diffusion(np.full(4, 0.5)))
    np.testing.assert_allclose(found, np.outer(found[:, 0], sizes), rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("symmetrize", [True, False])
def test_large_regularization_tends_to_the_infinite_one(instance, loss, symmetrize):
    f = gl.fit(
        instance, gl.GCN(gl.Diffusion(0.8), loss=loss, reg=[1e7, math.inf], symmetrize=symmetrize)
    )
    directions = f.outputs / np.linalg.norm(f.outputs, axis=1, keepdims=True)
    assert np.allclose(directions[0], directions[1], atol=1e-5)
    assert f.performance.test_loss[1] == pytest.approx(
        float(gl.GCN(gl.Diffusion(1.0), loss=loss, symmetrize=False).loss.value(0.0))
    )


@pytest.mark.parametrize("rho", [0.1, 0.6])  # fewer and more labelled nodes than features
@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_is_the_same_as_its_points(rho, loss):
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=rho), nodes=500, degree=20, seed=0)
    t, reg = np.array([[0.5], [1.0]]), np.array([0.3, 3.0, math.inf])
    path = gl.fit(i, gl.GCN(gl.Diffusion(t), loss=loss, reg=reg, symmetrize=True))
    assert path.weights.shape == (2, 3, 125)
    for k, l in np.ndindex(2, 3):  # noqa: E741
        one = gl.fit(i, gl.GCN(gl.Diffusion(t[k, 0]), loss=loss, reg=reg[l], symmetrize=True))
        scale = np.abs(one.outputs).max()
        assert np.allclose(path.outputs[k, l], one.outputs, atol=1e-6 * scale)
        assert path.performance.test_accuracy[k, l] == pytest.approx(
            one.performance.test_accuracy, abs=0.005
        )


def test_training_does_not_see_the_other_labels(instance):
    hidden = gl.Instance(
        instance.observation,
        dataclasses.replace(instance.latents, labels=np.zeros_like(instance.labels)),
    )
    gcn = gl.GCN(gl.Diffusion(1.0), loss="logistic", reg=[0.1, math.inf], symmetrize=True)
    assert np.array_equal(gl.fit(instance, gcn).outputs, gl.fit(hidden, gcn).outputs)


def test_streamed_features_train_where_the_gain_of_the_filter_is_large():
    data = gl.CSBM(alpha=1.5, lam=1.5, mu=3.0, rho=0.7)
    gcn = gl.GCN(gl.Diffusion(3.0), reg=0.01, symmetrize=True)
    one, other = (
        gl.fit(gl.sample(data, 150, 20, 0, streamed=s), gcn).outputs for s in (False, True)
    )
    assert 1e-9 < np.linalg.norm(one - other) / np.linalg.norm(one) < 1e-5


def test_a_krylov_space_of_all_labelled_nodes_is_enough(monkeypatch):
    monkeypatch.setattr("gcnlimit.simulation.train.products.PASSES", 3)
    data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.0), reg=0.1)
    one, other = (
        gl.fit(gl.sample(data, 250, 20, 0, streamed=s), gcn).outputs for s in (False, True)
    )
    assert np.allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize(
    "classes, loss",
    [
        *((2, loss) for loss in (*LOSSES, "softmax")),
        *((3, loss) for loss in ("square", "softmax")),
        *(((0.3, 0.7), loss) for loss in ("square", "logistic")),
        ((0.5, 0.3, 0.2), "square"),
    ],
)
def test_streamed_features_train_to_the_same_weights(classes, loss):
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=classes)
    stored, streamed = (
        gl.sample(data, nodes=250, degree=20, seed=0, streamed=s) for s in (False, True)
    )
    c, reg = np.array([[[1.0, 1.0]], [[0.5, 2.0]]]), np.array([3.0, math.inf, 0.3])
    gcn = gl.GCN(gl.Residual(c), loss, reg=reg, symmetrize=False)
    one, other = (gl.fit(i, gcn, tol=1e-12) for i in (stored, streamed))
    assert np.allclose(one.weights, other.weights, rtol=1e-9, atol=1e-11)
    assert np.allclose(one.outputs, other.outputs, rtol=1e-9, atol=1e-11)
    assert np.allclose(one.bias, other.bias, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("classes", [(0.3, 0.7), (0.5, 0.3, 0.2)])
def test_streamed_features_give_the_limit_of_large_reg_to_unequal_classes(classes):
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=classes)
    drawn = (gl.sample(data, nodes=200, degree=20, seed=0, streamed=s) for s in (False, True))
    one, other = (gl.fit(i, gl.GCN(gl.Diffusion(1.0), "logistic")) for i in drawn)
    assert np.allclose(one.outputs, other.outputs, rtol=1e-9)
    assert np.array_equal(one.bias, other.bias)


def test_single_precision_gives_nearly_the_same_outputs(instance):
    gcn = gl.GCN(gl.Diffusion(1.0), loss="logistic", reg=[1.0, math.inf], symmetrize=True)
    single = dataclasses.replace(
        instance.observation, features=instance.features.astype(np.float32)
    )
    rough, exact = (
        gl.fit(gl.Instance(o, instance.latents), gcn).outputs
        for o in (single, instance.observation)
    )
    assert rough.dtype == np.float32
    assert np.linalg.norm(rough - exact) < 1e-5 * np.linalg.norm(exact)


@pytest.mark.parametrize("rho, message", [(0.0, "labelled"), (1.0, "test on")])
def test_too_few_or_too_many_labels_are_refused(rho, message):
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=rho), nodes=100, degree=10)
    with pytest.raises(gl.ParameterError, match=message):
        gl.fit(i, gl.GCN(gl.Diffusion(1.0), symmetrize=False))


def test_arguments_in_the_wrong_order_are_explained(instance):
    with pytest.raises(gl.ParameterError, match=r"write fit\(instance, gcn\)"):
        gl.fit(gl.GCN(gl.Diffusion(1.0), symmetrize=False), instance)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0])
def test_a_tolerance_is_a_small_positive_number(instance, tolerance):
    with pytest.raises(gl.ParameterError, match="tol"):
        gl.fit(instance, gl.GCN(gl.Diffusion(1.0), reg=1.0, symmetrize=False), tol=tolerance)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_looser_tolerance_gives_nearly_the_same_weights(instance, loss):
    gcn = gl.GCN(gl.Diffusion(1.0), loss, reg=1.0, symmetrize=False)
    loose, tight = gl.fit(instance, gcn, tol=1e-3).weights, gl.fit(instance, gcn).weights
    assert np.linalg.norm(loose - tight) < 0.1 * np.linalg.norm(tight)


def test_a_descent_that_diverges_beyond_all_numbers_names_the_rate(instance):
    gcn = gl.GCN(gl.Diffusion(1.0), training=gl.GradientDescent(2000, 5.0))
    with pytest.raises(gl.ParameterError, match=r"the descent diverges: .*; take a smaller rate"):
        gl.fit(instance, gcn)


@pytest.mark.parametrize("symmetrize", [False, True])
def test_a_filter_beyond_floating_point_numbers_is_refused(instance, symmetrize):
    deep = gl.GCN(gl.Residual.constant(100 / 1.5, 100), symmetrize=symmetrize)
    with pytest.raises(gl.ParameterError, match="the outputs exceed the numbers of type float64"):
        gl.fit(instance, deep)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reg", [1.0, math.inf])
def test_outputs_of_zero_classify_like_a_coin(instance, loss, reg):
    blank = gl.Instance.of(
        instance.adjacency, 0.0 * instance.features, instance.labels, instance.train_mask
    )
    found = gl.fit(blank, gl.GCN(gl.Diffusion(1.0), loss, reg)).performance
    assert (found.test_accuracy, found.train_accuracy, found.log_test_error) == (
        0.5,
        0.5,
        math.log(0.5),
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_large_reg_is_the_limit_or_refused(instance, loss):
    """In every precision the accuracy is that at infinity, until the weights are no numbers any more."""
    limit, refused = gl.fit(instance, gl.GCN(gl.Diffusion(1.0), loss)).performance.test_accuracy, {}
    for power in (20, 60, 140, 200, 300, 308):
        try:
            found = gl.fit(
                instance, gl.GCN(gl.Diffusion(1.0), loss, 10.0**power)
            ).performance.test_accuracy
        except gl.ParameterError as error:
            refused[power] = str(error)
            continue
        assert found == limit
    assert all(power > 140 and "reg=math.inf" in why for power, why in refused.items())


@pytest.mark.parametrize("symmetrize", [True, False])
def test_outputs_are_precise_or_refused(symmetrize):
    """A strong signal is one end of the spectrum, and the filter may be huge at the other: then digits cancel."""
    i = gl.sample(gl.CSBM(alpha=4, lam=15.0, mu=2.0, rho=0.3), nodes=300, degree=145, seed=0)
    refused = {}
    for t in (0.5, -0.5, -1.0, -1.6, -2.5, -3.0):
        g = linalg.expm(t * dense(i, symmetrize))
        expected = g @ i.features @ (i.features.T @ (g.T @ i.observation.train_labels)) / 300
        try:
            outputs = gl.fit(i, gl.GCN(gl.Diffusion(t), symmetrize=symmetrize)).outputs
        except gl.ParameterError as error:
            refused[t] = str(error)
            continue
        assert np.allclose(outputs, expected, rtol=0, atol=1e-3 * np.abs(expected).max())
    assert not refused.keys() & {0.5, -0.5}
    assert "lost in rounding errors" in refused[-3.0]


@pytest.mark.parametrize(
    "call", [gl.fit, gl.simulate, lambda i, g: gl.amp(g), lambda i, g: gl.sample(g)]
)
def test_wrong_types_are_named(call):
    with pytest.raises(gl.ParameterError, match=r"needs an? \w+.*, got"):
        call(None, 3)


@pytest.mark.parametrize("device", ["gpu", "", None, 3, "cuda:x"])
def test_unknown_devices_are_named(data, device):
    with pytest.raises(
        gl.ParameterError, match=r"device = .* is not allowed; it must be 'cpu', 'cuda'"
    ):
        gl.sample(data, nodes=100, degree=10, device=device)


def test_a_device_without_pytorch_names_the_extra(instance, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(gl.GCNLimitError, match=r"device = 'cuda' needs torch; .*gcnlimit\[gpu\]"):
        gl.fit(instance, gl.GCN(gl.Diffusion(1.0)), device="cuda")


def test_streamed_features_are_drawn_once_for_all_networks_and_once_an_iteration(data, monkeypatch):
    instance, drawn = gl.sample(data, nodes=500, degree=20, seed=0, streamed=True), []
    monkeypatch.setattr("gcnlimit.simulation.data.features.block_done", drawn.append)
    train(instance.observation, gl.GCN(gl.Diffusion([0.5, 1.0, 2.0])))
    assert sum(drawn) == instance.features.tiles
    found = gl.amp(instance)
    assert sum(drawn) == instance.features.tiles * (1 + found.iterations)


@pytest.mark.parametrize("classes", [2, [0.3, 0.7]])
def test_streamed_features_stop_early_at_the_same_weights(classes):
    """At each time and regularization: functions of one Krylov space, or of the whole spectrum."""
    data = gl.CSBM(2, 1.0, 2.0, 0.3, classes=classes)
    flow = gl.GradientFlow([0.2, 3.0])
    gcn = gl.GCN(gl.Diffusion(0.7), reg=[0.0, 0.5], training=flow)
    drawn = (gl.sample(data, nodes=150, degree=20, seed=0, streamed=s) for s in (False, True))
    stored, streamed = (gl.fit(i, gcn, tol=1e-11) for i in drawn)
    np.testing.assert_allclose(streamed.outputs, stored.outputs, atol=1e-7)
    np.testing.assert_allclose(streamed.weights, stored.weights, atol=1e-7)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_streamed_training_that_takes_too_many_passes_is_refused(monkeypatch, loss):
    monkeypatch.setattr("gcnlimit.simulation.train.products.PASSES", 3)
    monkeypatch.setattr("gcnlimit.simulation.train.products.MAX_PASSES", 3)
    data = gl.CSBM(2, 1.0, 2.0, 0.3)
    drawn = gl.sample(data, nodes=150, degree=20, seed=0, streamed=True)
    with pytest.raises(gl.ConvergenceError, match="did not converge in 3 passes over the features"):
        gl.fit(drawn, gl.GCN(gl.Diffusion(0.7), loss, 1e-3))
