"""Finite regularization by four numbers, on every kind of graph, against the equations of the whole chain."""

import pickle

import numpy as np
import pytest
from problems import LOSSES

import gcnlimit as gl
from gcnlimit.theory.finite_reg.equations import Pulls
from gcnlimit.theory.finite_reg.solution import ScaledChain, scaled_chain
from gcnlimit.theory.large_reg import filter_averages
from gcnlimit.theory.points import Points
from gcnlimit.theory.solve import solve
from validation.chain_equations import apply_equations, of_layers

FILTERS = [
    gl.Residual([0.5, 1.2, -0.3]),
    gl.Residual.constant(1.0, 8),
    gl.Diffusion(-1.2),
    gl.PageRank(0.2),
    gl.Polynomial([0.3, 0.2, -0.5, 0.1]),
    gl.Residual(np.empty(0)),
]
GRAPHS = {
    "symmetrized": (gl.CSBM(alpha=2.0, lam=0.9, mu=1.5, rho=0.4), True),
    "interpolating": (gl.CSBM(alpha=0.7, lam=-0.4, mu=0.5, rho=0.9), True),
    "natively symmetric": (gl.CSBM(alpha=4.0, lam=1.3, mu=2.0, rho=0.1, directed=False), False),
    "directed": (gl.CSBM(alpha=2.0, lam=-1.8, mu=1.5, rho=0.4), False),
    "directed, interpolating": (gl.CSBM(alpha=0.7, lam=0.6, mu=0.5, rho=0.9), False),
}


def solves_chain_equations(data, gcn, within=1e-9):
    points = of_layers(data, gcn)
    layers = solve(points, tol=1e-13, max_iterations=5000).chain_layers().reshape(())
    after = apply_equations(data, gcn, layers).as_dict()
    for name, old in layers.as_dict().items():
        size = np.abs(after[name]).max(initial=0.0)
        assert np.abs(after[name] - old).max(initial=0.0) <= within * size, (gcn, name)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_order_parameter_solves_the_chain_equations(graph, loss):
    """They know layers, memory along each edge, and the loss of each node; four numbers and a few averages do not.

    The two regularizations take turns, so that each filter, loss and graph meets both.
    """
    data, symmetrize = GRAPHS[graph]
    for k, filter in enumerate(FILTERS, start=list(GRAPHS).index(graph)):
        solves_chain_equations(data, gl.GCN(filter, loss, (0.03, 3.0)[k % 2], symmetrize))


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_chain_has_the_gains_of_infinite_regularization(graph, filter):
    """In the bulk and along the labels, whose ratio tells how far away the loss is negligible."""
    data, symmetrize = GRAPHS[graph]
    points = Points.of(data, gl.GCN(filter, symmetrize=symmetrize))
    averages = filter_averages(points.filter, points.operator, points.mu, 200)
    ratio = averages.e_g2 / averages.tau_g2
    np.testing.assert_allclose(scaled_chain(points).spike, ratio, rtol=1e-9)


def test_states_are_packed_without_loss():
    pulls = Pulls(*(np.array(x) for x in ([0.3, 2.0], [0.1, 4.0], [-0.2, 0.5], [0.0, 3.0])))
    peak = np.array([1.0, 30.0])
    for old, new in zip(pulls, Pulls.unpack(pulls.pack(peak), peak), strict=True):
        assert np.allclose(old, new, rtol=1e-14, atol=1e-15)


def test_layers_are_found_where_going_around_them_does_not_converge():
    """Overlaps of one point that the search for them leaves out: then they are solved for at once."""
    c = [
        -0.309978,
        -1.445623,
        -1.125184,
        2.01101,
        -1.065096,
        1.065657,
        0.174862,
        1.577936,
        0.536544,
    ]
    data = gl.CSBM(alpha=0.264447, lam=-1.076408, mu=0.295449, rho=1.0)
    gcn = gl.GCN(gl.Residual(c), "square", 0.186864, symmetrize=False)
    solves_chain_equations(
        data, gcn
    )  # takes seconds: all overlaps of nine layers are unknowns of one system


HARD = [
    (gl.Residual.constant(2.0, 30), 1.9, 0.4, 0.05, "logistic", 1e2),
    (gl.Residual.constant(0.5, 30), 1.7, 2.0, 0.6, "hinge", 1e0),
    (gl.Residual.constant(0.03, 30), 1.98, 4.9, 0.4, "hinge", 1e5),
    (gl.Residual.constant(0.2, 30), 1.87, 0.7, 0.28, "square", 6e-3),
    (gl.Diffusion(4.98), 1.91, 7.8, 0.74, "hinge", 1.5e-4),
    (gl.Diffusion(-4.1), -1.89, 0.46, 0.88, "hinge", 2e-4),
    (gl.Diffusion(-4.8), -1.96, 2.0, 0.25, "logistic", 3e5),
    (gl.Diffusion(5.0), 1.0, 4.0, 0.5, "square", 1e-2),
    (gl.Residual.constant(10.0, 30), 1.0, 4.0, 1.0, "square", 1e-4),
]


@pytest.mark.parametrize("symmetrize", [True, False], ids=["symmetrized", "directed"])
@pytest.mark.parametrize("point", HARD, ids=lambda point: f"{point[0]!r:.30} {point[4:]}")
def test_hard_points_are_solved(point, symmetrize):
    """Gains along the labels of up to 1e18 times that of the bulk make outputs large and the equations stiff."""
    filter, lam, alpha, rho, loss, reg = point
    data = gl.CSBM(alpha=alpha, lam=lam, mu=2.0, rho=rho)
    points = Points.of(data, gl.GCN(filter, symmetrize=symmetrize))
    scaled = ScaledChain.of(filter.chain(radius=float(points.radius[0])), points.signal, symmetrize)
    nearby = reg * float(scaled.gain[0] ** 2) * np.array([0.999, 1.0, 1.001])
    prediction = gl.predict(data, gl.GCN(filter, loss, nearby, symmetrize), tol=1e-11)
    assert np.all(prediction.residual < 1e-11)
    Q_w = (
        prediction.order_parameters.weights.Q
    )  # the weights are a minimum: the envelope theorem in reg
    energy = rho * prediction.train_loss + 0.5 * nearby * Q_w
    assert (energy[2] - energy[0]) / (nearby[2] - nearby[0]) == pytest.approx(
        0.5 * Q_w[1], rel=1e-5
    )


def test_layers_are_worked_out_when_asked_for_and_travel():
    data = gl.CSBM(alpha=2.0, lam=0.9, mu=1.5, rho=0.4)
    gcn = gl.GCN(gl.Residual([0.5, 1.2]), "logistic", [[0.3], [np.inf]], symmetrize=False)
    sent, kept = (gl.predict(data, gcn).order_parameters for _ in range(2))
    received = pickle.loads(pickle.dumps(sent))
    for name in ("m", "Q", "V_hat", "Q_qh"):
        assert np.array_equal(
            getattr(received.layers, name), getattr(kept.layers, name), equal_nan=True
        )
    assert np.array_equal(received.weights.Q, kept.weights.Q)
    assert np.all(kept.layers.Q[1] == 0.0)  # outputs vanish at infinite regularization
    assert np.isnan(kept.weights.V_hat[1, 0])  # and the pulls do not


@pytest.mark.parametrize("reg", [1e-4, 1e-8, 1e-12])
def test_without_layers_the_kind_of_graph_does_not_matter(reg):
    """Where every node is labelled and fitted the response hardly varies over the spectrum: its variation must keep digits."""
    data = gl.CSBM(alpha=0.5, lam=0.9, mu=1.5, rho=1.0)
    none = gl.Residual(np.empty(0))
    directed, symmetric = (
        gl.predict(data, gl.GCN(none, "square", reg, symmetrize)) for symmetrize in (False, True)
    )
    assert symmetric.test_accuracy == pytest.approx(directed.test_accuracy, abs=1e-9)


def test_a_sharp_filter_is_given_the_nodes_it_needs():
    data = gl.CSBM(alpha=0.198, lam=-0.879, mu=0.0, rho=0.99)
    prediction = gl.predict(
        data, gl.GCN(gl.Residual([1.3105, -0.6509]), "square", 2.57e-5, symmetrize=True)
    )
    assert prediction.status == gl.Status.CONVERGED


TWO_KINKS = gl.losses.FromValue(
    lambda z: np.maximum(0.0, 1.0 - z) + np.maximum(0.0, -z), (0.0, 1.0)
)
STEEP = {
    "hinge": (
        gl.CSBM(0.61, -21.0, 0.3, 0.57, directed=False),
        gl.GCN(gl.Polynomial([0.3, -1.64, -1.52, -1.56, -1.66]), "hinge", 15.0),
    ),
    "two kinks": (
        gl.CSBM(0.081, 18.0, 1.7, 0.017, directed=False),
        gl.GCN(gl.Polynomial([0.1, 1.99, 0.2]), TWO_KINKS, 1.0),
    ),
    "degrees": (
        gl.CSBM(
            0.055, 12.0, 2.2, 0.011, directed=False, degrees=gl.Degrees([0.9238, 0.9956, 1.0806])
        ),
        gl.GCN(gl.Residual([0.55, -0.47, -1.35, -0.55, -0.71]), "hinge", 0.27),
    ),
}


@pytest.mark.parametrize("case", STEEP)
def test_where_pulls_swing_and_outputs_do_not_a_search_is_short(case):
    """A strong signal puts nearly all outputs beyond a kink: pulls change a hundred times as fast as outputs."""
    data, gcn = STEEP[case]
    assert gl.predict(data, gcn).iterations < 1000
    if case == "hinge":  # what outputs leave of the digits of the pulls
        solves_chain_equations(data, gcn, within=1e-8)
