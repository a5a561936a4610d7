"""Filters: their function, their chain and their action on a matrix are one and the same."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.special import gammainc

import gcnlimit as gl
from gcnlimit.filters import to_unit

FILTERS = [
    gl.Residual([0.3, -1.23, 2.1]),
    gl.Residual(np.empty(0)),
    gl.Polynomial([0.2, 0.0, -1.5, 0.7]),
    gl.Diffusion(1.7),
    gl.Diffusion(-2.5),
    gl.PageRank(0.4),
    gl.PageRank(-0.3),
]


def matrix_function(filter, matrix):
    identity = np.eye(len(matrix))
    if isinstance(filter, gl.Diffusion):
        return expm(filter.t * matrix)
    if isinstance(filter, gl.PageRank):
        return np.linalg.inv(identity - filter.theta * matrix)
    if isinstance(filter, gl.Polynomial):
        return sum(c * np.linalg.matrix_power(matrix, k) for k, c in enumerate(filter.coefficients))
    return np.linalg.multi_dot([identity, identity, *(matrix + c * identity for c in filter.c)])


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
@pytest.mark.parametrize("symmetric", [False, True])
def test_apply_is_the_matrix_function(filter, symmetric):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(30, 30)) / np.sqrt(30)
    matrix = (matrix + matrix.T) / np.sqrt(2) if symmetric else matrix
    matrix *= 2.0 / np.linalg.norm(matrix, 2)
    block = rng.normal(size=(30, 4))
    expected = matrix_function(filter, matrix) @ block
    radius = 2.0 if symmetric else None
    assert np.allclose(
        filter.apply(matrix, block, radius=radius),
        expected,
        rtol=0,
        atol=1e-10 * np.abs(expected).max(),
    )
    single = filter.apply(
        matrix.astype(np.float32), block.astype(np.float32), radius=radius, accuracy=1e-6
    )
    assert single.dtype == np.float32
    assert np.allclose(single, expected, rtol=0, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
def test_chain_is_the_filter(filter):
    x = np.linspace(-2, 2, 41)
    for accuracy in (1e-6, 1e-13):
        error = np.abs(filter.chain(accuracy=accuracy, radius=2.0)(x) - filter(x)).max()
        assert error <= 5 * accuracy * np.abs(filter(x)).max()


def test_chain_about_another_center():
    x = np.linspace(-2, 2, 41)
    assert np.allclose(
        gl.Diffusion(-3.0).chain(accuracy=1e-15, radius=2.0, center=1.5)(x),
        np.exp(-3.0 * x),
        rtol=1e-11,
    )


@pytest.mark.parametrize("filter", FILTERS, ids=repr)
def test_normalized_is_the_filter_over_its_largest_value(filter):
    x = np.linspace(-2, 2, 41)
    values, size = filter.normalized(x)
    assert np.allclose(values * np.exp(size), filter(x), rtol=1e-12)
    assert np.abs(values).max() == pytest.approx(1.0, rel=1e-12)


@given(st.lists(st.floats(-3, 3), max_size=6))
def test_residual_equals_its_polynomial(c):
    """A product of layers and the polynomial with the same roots are the same function."""
    coefficients = np.polynomial.polynomial.polyfromroots([-value for value in c])
    x = np.linspace(-2.5, 2.5, 11)
    left, right = gl.Residual(np.array(c))(x), gl.Polynomial(np.atleast_1d(coefficients))(x)
    assert np.allclose(
        left, right, rtol=0, atol=1e-12 * max(1.0, np.prod([2.5 + abs(v) for v in c]))
    )


def test_nothing_overflows_on_the_way_to_a_value():
    """Layers that grow beyond floating-point numbers and come back."""
    c = np.repeat([1e200, 1e-200], 10)
    assert gl.Residual(c)([0.0, 0.0]) == pytest.approx(1.0, rel=1e-10)
    assert gl.Residual.constant(100.0, 1000)(-99.0) == pytest.approx(1.0, rel=1e-12)
    assert gl.Residual.constant([0.0, 1.0], 3)([]).shape == (2, 0)


@pytest.mark.parametrize("lam, t", [(1.0, 1e9), (1e40, 1.0)])
@pytest.mark.parametrize("symmetrize", [False, True])
def test_a_diffusion_too_long_for_its_series_is_refused(lam, t, symmetrize):
    with pytest.raises(gl.ParameterError, match="too many terms"):
        gl.predict(
            gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1),
            gl.GCN(gl.Diffusion(t), symmetrize=symmetrize),
        )


def test_diverging_pagerank_on_an_operator():
    with pytest.raises(gl.ParameterError, match=r"theta = 0\.9 is too large for this operator"):
        gl.PageRank(0.9).apply(2 * np.eye(3), np.ones(3))


class Heat(gl.Diffusion):
    """Diffusion that leaves to the defaults what it knows in closed form."""

    quadrature_nodes, layers = gl.Filter.quadrature_nodes, gl.Filter.layers
    series, directed_chain = gl.Filter.series, gl.Filter.directed_chain


class Teleport(gl.PageRank):
    """PageRank that leaves to the defaults what it knows in closed form."""

    quadrature_nodes, layers = gl.Filter.quadrature_nodes, gl.Filter.layers
    series, directed_averages = gl.Filter.series, gl.Filter.directed_averages  # type: ignore[assignment]


DERIVED = [(Heat(1.7), gl.Diffusion(1.7)), (Teleport(0.3), gl.PageRank(0.3))]
DATA = gl.CSBM(alpha=[0.5, 4.0], lam=[1.3, 0.8], mu=2.0, rho=0.2)


@pytest.mark.parametrize(("derived", "closed"), DERIVED, ids=repr)
@pytest.mark.parametrize("symmetrize", [False, True])
@pytest.mark.parametrize("reg", [np.inf, 0.5])
def test_what_is_derived_from_values_and_chain_equals_the_closed_form(
    derived, closed, symmetrize, reg
):
    mine, known = (
        gl.predict(DATA, gl.GCN(f, reg=reg, symmetrize=symmetrize)) for f in (derived, closed)
    )
    tol = 1e-12 if np.isinf(reg) else 1e-9
    assert np.allclose(
        mine.order_parameters.test_margin, known.order_parameters.test_margin, rtol=tol, atol=0
    )


@pytest.mark.parametrize(("derived", "closed"), DERIVED, ids=repr)
def test_the_derived_action_finds_the_radius_of_an_operator(derived, closed):
    rng = np.random.default_rng(3)
    matrix, block = rng.normal(size=(20, 20)), rng.normal(size=(20, 3))
    matrix *= 3.0 / np.linalg.norm(matrix, 2)
    many = derived.replaced(derived.values * np.array([1.0, 0.5, -0.7]))
    expected = np.stack([matrix_function(closed.replaced(v), matrix) @ block for v in many.values])
    assert np.allclose(
        many.apply(matrix, block), expected, rtol=0, atol=1e-10 * np.abs(expected).max()
    )


FUNCTIONS = [
    (lambda x: np.exp(0.8 * x), gl.Diffusion(0.8)),
    (lambda x: 1.0 / (1.0 - 0.3 * x), gl.PageRank(0.3)),
    (lambda x: (x + 1.0) * (x - 0.3), gl.Residual([1.0, -0.3])),
]


@pytest.mark.parametrize(
    ("function", "known"), FUNCTIONS, ids=["diffusion", "pagerank", "residual"]
)
@pytest.mark.parametrize("directed", [False, True])
def test_a_plain_function_is_a_filter_on_symmetric_graphs(function, known, directed):
    """At any regularization, in theory and on a sampled graph."""
    data = gl.CSBM(alpha=[0.5, 4.0], lam=[1.1, 0.8], mu=2.0, rho=0.2, directed=directed)
    reg = np.array([[math.inf], [1.0], [0.01]])
    mine, same = (gl.predict(data, gl.GCN(f, "logistic", reg)) for f in (function, known))
    assert np.allclose(
        mine.order_parameters.test_margin, same.order_parameters.test_margin, rtol=1e-8, atol=0
    )
    instance = gl.sample(gl.CSBM(4, 0.8, 2.0, 0.2, directed=directed), nodes=300, degree=20, seed=0)
    outputs = [gl.fit(instance, gl.GCN(f, reg=[math.inf, 0.5])).outputs for f in (function, known)]
    assert np.allclose(*outputs, rtol=0, atol=1e-9 * np.abs(outputs[1]).max())


@pytest.mark.parametrize("reg", [math.inf, 1.0])
def test_a_plain_function_on_a_directed_graph_says_what_to_do(reg):
    gcn = gl.GCN(np.cosh, reg=reg, symmetrize=False)
    with pytest.raises(gl.ParameterError, match="pass symmetrize=True"):
        gl.predict(gl.CSBM(4, 0.8, 2.0, 0.2), gcn)
    with pytest.raises(gl.ParameterError, match="pass symmetrize=True"):
        gl.fit(gl.sample(gl.CSBM(4, 0.8, 2.0, 0.2), nodes=100, degree=10, seed=0), gcn)


def test_a_function_of_one_number_is_told_to_take_arrays():
    with pytest.raises(gl.ParameterError, match=r"fails on an array .* write it with NumPy"):
        gl.predict(gl.CSBM(4, 0.8, 2.0, 0.2), gl.GCN(math.exp))


def test_a_function_that_other_processes_cannot_import_is_refused():
    gcn = gl.GCN(lambda x: x + 1.0)
    with pytest.raises(gl.ParameterError, match="or pass workers=1"):
        gl.simulate(
            gl.CSBM(4, 0.8, 2.0, 0.2), gcn, nodes=100, degree=10, trials=2, seed=0, workers=2
        )


@dataclass(frozen=True, eq=False)
class Bump(gl.Filter):
    """One method, one parameter: enough for symmetric graphs."""

    parameter = "s"
    s: object

    def normalized(self, x):
        return to_unit(1.0 / (1.0 + self.values[..., None] * (x - 2.0) ** 2))


def test_one_method_is_enough_to_be_tuned_on_a_symmetric_graph():
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    best = gl.tune(data, gl.GCN(Bump(1.0)), {"s": (0, 10)})
    scan = gl.predict(data, gl.GCN(Bump(np.linspace(0, 10, 201)))).test_accuracy
    assert best.prediction.test_accuracy >= scan.max() - 1e-12
    assert best.prediction.test_accuracy == pytest.approx(scan.max(), abs=1e-4)


@given(st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_products_and_readouts_of_a_chain_make_its_function(depth, seed):
    """sum_k g_k P_k = R_0, and P_k R_k + sum_{j<k} g_j P_j is the same function for every k, at points and by powers."""
    rng = np.random.default_rng(seed)
    chain = gl.filters.Chain(*(rng.normal(size=(2, depth + n)) for n in (0, 0, 1)))
    x = rng.uniform(-2, 2, (2, 7))
    P, R = chain.partial_values(x)
    for k in range(depth + 1):
        split = P[:, k] * R[:, k] + np.sum(chain.g[:, :k, None] * P[:, :k], axis=1)
        assert np.allclose(split, chain.values(x), rtol=1e-10, atol=1e-10)
    powers = x[..., None] ** np.arange(depth + 1)
    for values, coefficients in zip((P, R), chain.coefficients(), strict=True):
        assert np.allclose(
            values, np.einsum("bki,bni->bkn", coefficients, powers), rtol=1e-10, atol=1e-9
        )
    signal = rng.uniform(-2, 2, 2)
    g, G = chain.taylor(signal)
    tails = [
        np.sum(g[i:] * signal ** np.arange(depth + 1 - i)[:, None], axis=0)
        for i in range(depth + 1)
    ]
    assert np.allclose(G, tails, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "x", ["x", [[1.0, 2.0], [3.0]], np.nan, None, np.ma.masked_array([1.0, 2.0], [True, False])]
)
def test_values_are_asked_for_at_numbers(x):
    with pytest.raises(gl.ParameterError, match="x"):
        gl.Diffusion(1.0)(x)


def test_values_beyond_the_largest_number_are_infinite():
    for filter, x in (
        (gl.Diffusion(1e155), 2.0),
        (gl.Residual([1e200, 1e200]), 1e200),
        (gl.PageRank(0.5), 2.0),
    ):
        assert np.isinf(filter(x))


@pytest.mark.parametrize(
    "deep", [lambda: gl.Residual.constant(1.0, 10**30), lambda: gl.Residual(np.ones(10_001))]
)
def test_a_network_so_deep_that_its_answer_would_not_come_is_refused(deep):
    with pytest.raises(gl.ParameterError, match=r"depth = 10.* from 0 to 10000"):
        deep()


@pytest.mark.parametrize(
    "combine", [lambda f, g: f + g, lambda f, g: f * g, lambda f, g: 2.0 * f, lambda f, g: f - 1]
)
def test_filters_are_combined_as_functions(combine):
    with pytest.raises(gl.ParameterError, match=r"gl\.GCN\(lambda x: f\(x\) \+ g\(x\)\)"):
        combine(gl.Diffusion(1.0), gl.PageRank(0.1))


@pytest.mark.parametrize(
    "combined",
    [
        lambda f: f + f,
        lambda f: 2.0 * f,
        lambda f: f @ f,
        lambda f: f / 2.0,
        lambda f: -f,
        lambda f: f**2,
    ],
)
def test_a_combination_of_filters_is_told_how_to_write_it(combined):
    f = gl.PageRank(0.3)
    with pytest.raises(gl.ParameterError, match=r"gl.GCN\(lambda x: f\(x\) \+ g\(x\)\)"):
        combined(f)
    data = gl.CSBM(3.0, 1.0, 1.5, 0.1, directed=False)
    twice = gl.predict(data, gl.GCN(lambda x: f(x) + f(x))).test_accuracy
    assert twice == pytest.approx(gl.predict(data, gl.GCN(f)).test_accuracy, abs=1e-9)


def test_a_series_goes_on_after_one_small_term():
    """Powers of this matrix are small and large in turn: its exponential is a hyperbolic cosine."""
    matrix, block = np.array([[0.0, 1e4], [1e-4, 0.0]]), np.array([[1.0], [0.0]])
    result = gl.Diffusion(3.0).apply(matrix, block, accuracy=1e-3)
    assert result[0, 0] == pytest.approx(np.cosh(3.0), rel=2e-3)


@pytest.mark.parametrize("accuracy", [1e-6, 1e-12, 1e-18])
def test_a_series_is_cut_at_the_first_term_after_which_the_rest_is_small(accuracy):
    """The rest of the exponential series over the whole is an incomplete gamma function."""
    for t in (1e-3, 0.2, 3.0, 40.0):
        depth = gl.Diffusion(t).chain(accuracy=accuracy, radius=1.0).depth
        assert gammainc(depth + 1, t) <= accuracy
        assert depth == 1 or gammainc(depth, t) > accuracy
        about = gl.Diffusion(-t).chain(accuracy=accuracy, radius=0.6, center=-0.4).depth
        assert about == depth
    for theta in (0.01, 0.3, -0.45):
        depth = gl.PageRank(theta).chain(accuracy=accuracy, radius=2.0).depth
        assert abs(2.0 * theta) ** depth <= accuracy < abs(2.0 * theta) ** (depth - 1)


def test_a_filter_acts_on_whole_numbers_and_lists():
    """They are floats to it: of whole numbers it once tried to keep the type."""
    operator = np.array([[0.0, 1.0], [1.0, 0.0]])
    for block in ([1, 2], np.array([1, 2]), np.array([1.0, 2.0], ">f8")):
        acted = gl.Diffusion(1.0).apply(operator, block, radius=1.0)
        assert acted == pytest.approx([3.8935, 4.2613], abs=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"block": "x"},
        {"block": np.ones(3)},
        {"block": np.ones((2, 2, 2))},
        {"operator": None},
        {"operator": np.ones((2, 3))},
        {"accuracy": 2.0},
        {"accuracy": "x"},
        {"radius": -1.0},
        {"radius": [1.0, 2.0]},
    ],
    ids=repr,
)
def test_what_a_filter_cannot_act_on_is_refused(wrong):
    usual = {"operator": np.eye(2), "block": np.ones(2), "radius": 1.0}
    with pytest.raises(gl.ParameterError, match=next(iter(wrong))):
        gl.Diffusion(1.0).apply(**usual | wrong)


@pytest.mark.parametrize("filter", [gl.Diffusion(1.0), gl.PageRank(0.3)], ids=repr)
@pytest.mark.parametrize(
    "wrong", [{"accuracy": 1.0}, {"accuracy": None}, {"radius": "x"}], ids=repr
)
def test_a_chain_asks_for_its_accuracy_and_radius(filter, wrong):
    for method in (filter.chain, filter.layers):
        with pytest.raises(gl.ParameterError, match=next(iter(wrong))):
            method(**wrong)
