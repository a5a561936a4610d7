"""Penalties on the weights: squared weights as a special case, a solution by hand, and simulations."""

import numpy as np
import pytest
from problems import LOSSES
from scipy.stats import norm

import gcnlimit as gl
from gcnlimit.losses import FromValue
from gcnlimit.penalties import L2, Mixed, as_penalty

DATA = gl.CSBM(alpha=2.0, lam=1.0, mu=2.0, rho=0.4)


class Quartic(gl.Penalty):
    """A penalty of one's own, w^2/2 + w^4/4."""

    def value(self, w):
        return 0.5 * np.square(w) + 0.25 * np.power(w, 4)

    def prox(self, omega, v):
        omega, v = np.broadcast_arrays(np.asarray(omega, float), np.asarray(v, float))
        x = omega / (1 + v)
        for _ in range(15):
            x = x - (x + v * (x + x**3) - omega) / (1 + v * (1 + 3 * x**2))
        return x

    def prox_derivative(self, omega, v):
        return 1 / (1 + np.asarray(v) * (1 + 3 * self.prox(omega, v) ** 2))


class QuarticAlone(gl.Penalty):
    """The same, by its value alone."""

    def value(self, w):
        return Quartic().value(w)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("symmetrize", [False, True])
def test_an_elastic_net_without_absolute_values_is_weight_decay(symmetrize, loss):
    gcn = gl.GCN(gl.Residual([1.0, 0.5]), loss, [0.3, 2.0], symmetrize, penalty=gl.ElasticNet(0.0))
    ours, known = gl.predict(DATA, gcn), gl.predict(DATA, gcn.replaced(penalty="l2"))
    assert np.allclose(ours.test_accuracy, known.test_accuracy, atol=1e-9)
    assert np.allclose(ours.order_parameters.weights.Q, known.order_parameters.weights.Q, rtol=1e-8)


@pytest.mark.parametrize(
    "given, known",
    [
        (lambda w: Quartic().value(w), Quartic()),
        (QuarticAlone(), Quartic()),
        (FromValue(gl.ElasticNet(0.4).value, kinks=(0.0,)), gl.ElasticNet(0.4)),
    ],
    ids=["function", "class", "function with a kink"],
)
def test_the_value_of_a_penalty_is_enough(given, known):
    gcn = gl.GCN(gl.Residual([1.0, 0.5]), reg=0.7, penalty=given)
    ours, theirs = gl.predict(DATA, gcn), gl.predict(DATA, gcn.replaced(penalty=known))
    assert ours.test_accuracy == pytest.approx(theirs.test_accuracy, abs=1e-9)


def test_a_function_that_is_no_penalty_is_refused():
    for wrong in (np.sin, np.exp, lambda w: -(w**2)):
        with pytest.raises(gl.ParameterError, match=r"not convex|not smallest at 0"):
            gl.GCN(gl.Residual([1.0]), reg=0.7, penalty=wrong)


def test_without_a_graph_the_equations_are_solved_by_hand():
    """Ridge regression with an elastic net on a Gaussian mixture: averages of a soft threshold, written out."""
    alpha, mu, rho, reg, ratio = 2.0, 2.0, 0.4, 0.7, 0.6
    m, Q, V = 0.0, 1.0, 1.0
    for _ in range(1000):
        V_hat, m_hat = rho / (1 + V), np.sqrt(mu) * rho * (1 - np.sqrt(mu) * m) / (1 + V)
        Q_hat = rho * ((1 - np.sqrt(mu) * m) ** 2 + Q) / (1 + V) ** 2
        threshold, inertia, deviation = (
            reg * ratio,
            V_hat + reg * (1 - ratio),
            np.sqrt(Q_hat + m_hat**2),
        )
        edge = threshold / deviation
        V = 2 * norm.sf(edge) / (alpha * inertia)
        second = 2 * (
            (deviation**2 + threshold**2) * norm.sf(edge) - threshold * deviation * norm.pdf(edge)
        )
        m, Q = m_hat * V, second / (alpha * inertia**2)
    data = gl.CSBM(alpha, 1.0, mu, rho)
    gcn = gl.GCN(gl.Residual(np.empty(0)), reg=reg, symmetrize=False, penalty=gl.ElasticNet(ratio))
    p = gl.predict(data, gcn, tol=1e-12).order_parameters
    assert p.test_margin == pytest.approx(np.sqrt(mu) * m / np.sqrt(Q), rel=1e-9)
    assert [p.weights.m, p.weights.Q, p.weights.V] == pytest.approx([m, Q, V], rel=1e-9)


@pytest.mark.parametrize("penalty", [gl.ElasticNet(0.4), Quartic()], ids=["elastic net", "quartic"])
def test_the_filter_may_be_scaled(penalty):
    """Twice the filter is the same network with a normalized one at weights of another size: units do not matter."""
    plain = gl.GCN(gl.Polynomial([0.5, 1.0]), reg=0.6, penalty=penalty, normalize=True)
    scaled = plain.replaced(filter=gl.Polynomial([1e3, 2e3]))
    assert gl.predict(DATA, plain).test_accuracy == pytest.approx(
        gl.predict(DATA, scaled).test_accuracy, abs=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss, symmetrize", [("square", False), ("logistic", True), ("hinge", False)]
)
@pytest.mark.parametrize(
    "penalty, flip",
    [(gl.ElasticNet(0.5), False), (Quartic(), True)],
    ids=["elastic net", "quartic"],
)
def test_trained_networks_are_as_predicted(penalty, flip, loss, symmetrize):
    """Each penalty with each loss; a loss meets one kind of graph with one penalty, the other kind with the other."""
    gcn = gl.GCN(gl.Residual([1.0, 0.5]), loss, 0.8, symmetrize != flip, penalty=penalty)
    predicted = gl.predict(DATA, gcn)
    measured = gl.simulate(DATA, gcn, nodes=300, degree=None, trials=16, seed=0, workers=1)
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        error = getattr(measured.standard_error, name)
        assert abs(getattr(measured, name) - getattr(predicted, name)) < 4 * error, name


def test_an_elastic_net_sets_weights_to_zero():
    instance = gl.sample(DATA, nodes=600, degree=30, seed=0)
    gcn = gl.GCN(gl.Residual([1.0]), reg=1.0, penalty=gl.ElasticNet(0.8))
    zero = np.mean(gl.fit(instance, gcn).weights == 0)
    w = gl.predict(DATA, gcn).order_parameters.weights
    expected = 1 - 2 * norm.sf(0.8 / np.sqrt(w.Q_hat + w.m_hat**2))
    assert gl.predict(DATA, gcn).order_parameters.nonzero == pytest.approx(1 - expected, abs=1e-12)
    assert abs(zero - expected) < 4 * np.sqrt(expected * (1 - expected) / 300)


def test_the_weights_of_an_elastic_net_have_the_law_of_their_field():
    """Where few weights are left, their law answers its field so strongly that turns between both swing for ever."""
    data = gl.CSBM(0.1, -0.9, np.array([3.0, 10.0, 14.0, 30.0]), 0.22, directed=False)
    reg, penalty = np.array([[0.2], [1.0]]), gl.ElasticNet(0.8)
    network = gl.Polynomial([1.76, -0.82, -0.96, 0.09, 0.84, -0.6])
    p = gl.predict(data, gl.GCN(network, reg=reg, normalize=True, penalty=penalty))
    weights = p.order_parameters.weights
    # weights that are not 0 answer their field by the curvature of penalty and loss
    curvature = reg * (1.0 - penalty.l1_ratio) + weights.V_hat
    known = p.order_parameters.nonzero / (data.alpha * curvature)
    assert pytest.approx(known, rel=1e-8) == weights.V


def test_a_penalty_is_turned_on_slowly_where_weights_fall_by_orders():
    """With a strong filter and many features most weights vanish at once, and the rest of them then grow again."""
    data = gl.CSBM([0.16, 0.5], 2.1, 1.4, 0.77)
    gcn = gl.GCN(gl.Residual([2.0, 2.6]), reg=0.39, penalty=gl.ElasticNet(0.5))
    p = gl.predict(data, gcn, throw=False)
    assert np.all(p.status == gl.Status.CONVERGED)
    weights = p.order_parameters.weights
    known = p.order_parameters.nonzero / (data.alpha * (0.5 * gcn.reg + weights.V_hat))
    assert pytest.approx(known, rel=1e-8) == weights.V
    alone = gl.predict(gl.CSBM(0.5, 2.1, 1.4, 0.77), gcn)
    assert alone.test_accuracy == pytest.approx(p.test_accuracy[1], abs=1e-10)


def test_a_penalty_that_leaves_no_weight_is_out_of_range():
    """Its threshold is twenty deviations of the field of weights that are 0."""
    gcn = gl.GCN(gl.Residual([1.0]), reg=[1.0, 30.0], penalty=gl.ElasticNet(0.8))
    status = gl.predict(DATA, gcn, throw=False).status
    assert list(status) == [gl.Status.CONVERGED, gl.Status.OUT_OF_RANGE]


def test_a_mixture_is_minimal_at_its_proximal_point():
    mixed, omega, v = Mixed(Quartic(), 0.3), np.linspace(-3, 3, 7), 0.7
    x = mixed.prox(omega, v)
    for step in (1e-4, -1e-4):
        there = mixed.value(x + step) + (x + step - omega) ** 2 / (2 * v)
        assert np.all(there >= mixed.value(x) + (x - omega) ** 2 / (2 * v))


class Shrunk(Quartic):
    """Its proximal operator is that of another penalty."""

    def prox(self, omega, v):
        return super().prox(omega, 1.1 * np.asarray(v))

    def prox_derivative(self, omega, v):
        return super().prox_derivative(omega, 1.1 * np.asarray(v))


def test_a_penalty_whose_prox_does_not_minimise_is_refused():
    with pytest.raises(gl.ParameterError, match=r"penalty = .*prox is .* lower at x ="):
        gl.GCN(gl.Diffusion(1.0), reg=1.0, penalty=Shrunk())


def test_what_a_penalty_is_not_for_is_refused():
    with pytest.raises(gl.ParameterError, match="reg = inf"):
        gl.GCN(gl.Diffusion(1.0), penalty=gl.ElasticNet(0.5))
    with pytest.raises(gl.ParameterError, match="l1_ratio = 1"):
        gl.ElasticNet(1.0)
    with pytest.raises(gl.ParameterError, match="not a penalty"):
        gl.GCN(gl.Diffusion(1.0), reg=1.0, penalty="l1")


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_only_a_function_that_is_half_the_square_everywhere_is_the_square(side):
    """On one side of 0, or up to a factor, it is another penalty."""
    assert as_penalty(lambda w: 0.5 * w * w) == L2()
    for factor in (1.0 + 1e-12, 2.0):

        def penalty(w, factor=factor):
            return 0.5 * w**2 * np.where(side * w > 0, 1.0, factor)

        assert as_penalty(FromValue(penalty, kinks=(0.0,))) != L2()
