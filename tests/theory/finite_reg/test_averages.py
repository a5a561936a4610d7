"""The averages of a loss where the corner of its proximal operator is too narrow to be resolved."""

import numpy as np
import pytest
from scipy.special import wrightomega
from scipy.stats import norm

import gcnlimit as gl
import gcnlimit.losses
from gcnlimit.losses import as_loss
from gcnlimit.theory.finite_reg.averages import (
    _GRID,
    Output,
    _alike,
    eta,
    expected_losses,
    slope_at_zero,
)


def at(mean, deviation, v):
    return Output(*(np.array([x]) for x in (mean, deviation**2, v)))


@pytest.mark.parametrize("v", [3.0, 0.1, 1.01e-3, 0.99e-3, 1e-6, 1e-12, 1e-25])
@pytest.mark.parametrize(
    ("mean", "deviation"), [(0.7, 1.14), (-2.0, 3.0), (40.0, 25.0), (1.0, 1e-2)]
)
def test_the_hinge_has_a_closed_form(v, mean, deviation):
    """The pull is 1 below 1 - v, 0 above 1 and a straight line between."""
    upper, lower = (1.0 - mean) / deviation, (1.0 - v - mean) / deviation
    inside = (
        norm.cdf(upper) - norm.cdf(lower)
        if v > 1e-4 * deviation
        else norm.pdf(upper) * v / deviation
    )
    pull = norm.cdf(lower)
    if v > 1e-4 * deviation:
        pull += (upper * inside + norm.pdf(upper) - norm.pdf(lower)) * deviation / v
    else:
        pull += 0.5 * inside
    found = eta(gl.Hinge(), at(mean, deviation, v))
    short = v / deviation if v <= 1e-4 * deviation else 0.0  # what the limit leaves out
    assert found.stiffness[0] == pytest.approx(inside / v, rel=1e-9 + 2.0 * short)
    assert found.pull[0] == pytest.approx(pull, rel=1e-9 + short**2)


def test_there_is_no_stiffness_where_the_corner_is_out_of_reach():
    assert eta(gl.Hinge(), at(0.0, 1e-9, 1e-9)).stiffness[0] == 0.0
    assert eta(gl.Hinge(), at(30.0, 1.0, 1e-9)).stiffness[0] == 0.0


class PlainHinge(gl.Loss):
    """A user's loss: value, prox and the derivative of the prox, nothing else."""

    value, prox, prox_derivative = (
        staticmethod(getattr(gl.Hinge(), x)) for x in ("value", "prox", "prox_derivative")
    )
    breakpoints = staticmethod(gl.Hinge().breakpoints)


def test_a_proximal_operator_that_moves_less_than_rounding_gives_no_number():
    exact = eta(gl.Hinge(), at(0.7, 1.14, 1e-4))
    for mine, built_in in zip(eta(as_loss(PlainHinge()), at(0.7, 1.14, 1e-4)), exact, strict=True):
        assert mine[0] == pytest.approx(built_in[0], rel=1e-10)
    assert np.isnan(eta(as_loss(PlainHinge()), at(0.7, 1.14, 1e-14)).pull[0])


def test_a_user_s_loss_may_be_steep():
    """Its slope at 0 is found from its values, however large it is."""
    for slope in (1.0, 30.0, 1e3, 1e90):
        steep = gl.losses.FromValue(lambda z, slope=slope: slope * np.logaddexp(0.0, -2.0 * z))
        assert slope_at_zero(as_loss(steep)) == pytest.approx(-slope, rel=1e-6)


@pytest.mark.parametrize("deviation", [1.0, 6.0, 16.0])
def test_a_loss_may_grow_as_an_exponential(deviation):
    r"""Of :math:`e^{-z}` the average is :math:`e^{-m+\sigma^2/2}`, from margins :math:`\sigma` deviations below the mean."""
    test, _ = expected_losses(as_loss(lambda z: np.exp(-z)), at(0.5, deviation, 0.3))
    assert test[0] == pytest.approx(np.exp(-0.5 + deviation**2 / 2), rel=1e-12)


def test_an_average_does_not_depend_on_those_beside_it():
    """Where one needs a wider grid, another has its answer already."""
    mean, deviation, v = np.linspace(-3.0, 25.0, 99), np.full(99, 0.597), np.full(99, 49.3)
    together = expected_losses(gl.Hinge(), Output(mean, deviation**2, v))[0]
    alone = [expected_losses(gl.Hinge(), at(m, 0.597, 49.3))[0][0] for m in mean]
    z = (1.0 - mean) / 0.597
    closed = 0.597 * (z * norm.cdf(z) + norm.pdf(z))
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    np.testing.assert_allclose(together, closed, rtol=1e-9, atol=1e-15)


def test_an_average_beyond_all_numbers_is_not_one():
    test, _ = expected_losses(as_loss(lambda z: np.exp(-z)), at(0.5, 40.0, 0.3))
    assert np.isnan(test[0])


def test_outputs_share_a_grid_if_their_deviations_are_within_a_factor_of_two():
    """A grid grows with the deviation: each group takes memory of one size, and none is left out."""
    deviation = np.concatenate([np.geomspace(1e-6, 9e3, 200), np.full(3000, 300.0)])
    ones = np.ones(deviation.size)
    groups = list(_alike(gl.Hinge(), Output(ones, deviation**2, ones)))
    assert sorted(np.concatenate(groups)) == list(range(deviation.size))
    for rows in groups:
        wide = np.maximum(deviation[rows], 1.0)
        assert wide.max() <= 2.0 * wide.min() * (1 + 1e-12)
        assert rows.size == 1 or rows.size * 30.0 * wide.max() <= _GRID
    refused = Output(*(np.array([x, 1.0, 2.0]) for x in (np.nan, 1.0, 1.0)))
    assert [rows.tolist() for rows in _alike(gl.Hinge(), refused)] == [[1, 2]]


WIDE = Output(*np.random.default_rng(3).uniform([-2.0, 2.1, -8.0], [6.0, 8.0, 24.0], (40, 3)).T)
WIDE = Output(WIDE.mean * np.exp(WIDE.variance), np.exp(2.0 * WIDE.variance), np.exp(WIDE.v))


def value_of_logistic(z):
    return np.logaddexp(0.0, -z)


@pytest.mark.parametrize(
    "loss", ["logistic", "softmax", value_of_logistic], ids=["logistic", "softmax", "by value"]
)
def test_wide_outputs_have_the_averages_of_a_fine_trapezoid(loss, monkeypatch):
    """Gaussian outputs of deviations from 8 to 3000, whatever the response, on a grid that does not grow with them."""
    known = as_loss("logistic" if callable(loss) else loss)
    expected = []
    for mean, variance, v in zip(*WIDE, strict=True):
        unit, step = np.linspace(-9.0, 9.0, int(90.0 * variance**0.5), retstep=True)
        pull, slope = known.pull(mean + variance**0.5 * unit, v)
        weight = step * norm.pdf(unit)
        expected.append([weight @ pull, weight @ pull**2, weight @ slope])
    found = eta(as_loss(loss), WIDE)
    for one, other in zip(found, np.transpose(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("loss", ["logistic", "hinge", value_of_logistic])
@pytest.mark.parametrize("v", [1e2, 1e9])
def test_outputs_of_nodes_of_hardly_any_edges_have_averages(loss, v):
    """Of a deviation of 30 000, beyond which no other node's is."""
    loss, deviation = as_loss(loss), 3e4
    step = 0.5
    omega = step * (np.arange(-480_000, 480_000) + 0.5)  # a kink halves a step
    known = gl.losses.Logistic() if loss.value(0.0) < 1.0 else loss
    weight = step / deviation * norm.pdf(omega / deviation)
    pull, slope = known.pull(omega, v)
    found = eta(loss, at(0.0, deviation, v))
    np.testing.assert_allclose(
        np.ravel(found), [weight @ pull, weight @ pull**2, weight @ slope], rtol=1e-6
    )
    losses = weight @ known.value(omega), weight @ known.value(known.prox(omega, v))
    np.testing.assert_allclose(
        np.ravel(expected_losses(loss, at(0.0, deviation, v))), losses, rtol=1e-6, atol=1e-12
    )
    # a grid that grows with the output would fill the memory
    assert np.isnan(eta(far_bend(), at(0.0, deviation, v)).pull[0])


def far_bend():
    """A loss that has no pieces."""
    return as_loss(lambda z: 0.1 * np.logaddexp(0.0, 500.0 - z))


def test_the_grid_of_a_wide_output_does_not_grow_with_it(monkeypatch):
    longest = []
    derivatives = gl.losses.Logistic.derivatives
    monkeypatch.setattr(
        gl.losses.Logistic,
        "derivatives",
        lambda loss, z: longest.append(np.size(z)) or derivatives(loss, z),
    )
    for deviation in (10.0, 100.0, 9e3):
        eta(gl.losses.Logistic(), at(0.3 * deviation, deviation, 50.0))
    assert max(longest) < 2500


def test_wide_outputs_of_an_exponential_loss():
    r"""With :math:`y = vf` it is :math:`y + \log y = \log v - \omega`: Wright's function."""
    mean, deviation, v = -759.2, 366.6, 2.65e-6
    z, step = np.linspace(-9.0, 9.0, 40_001, retstep=True)
    y = wrightomega(np.log(v) - mean - deviation * z)
    weight = step * norm.pdf(z)
    found = eta(as_loss(lambda z: np.exp(-z)), at(mean, deviation, v))
    expected = weight @ (y / v), weight @ (y / v) ** 2, weight @ (y / v / (1.0 + y))
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-9)


def test_a_loss_whose_slope_turns_far_away_keeps_its_grid():
    """Pieces that grow away from 0 would miss a corner, or a bend, at a margin of 500."""
    far = far_bend()
    assert far.pieces is None
    mean, deviation, v = 400.0, 60.0, 3.0
    shifted = eta(gl.losses.Logistic(), at(mean - 500.0, deviation, 0.1 * v))
    found = eta(far, at(mean, deviation, v))
    assert found.pull == pytest.approx(0.1 * shifted.pull, rel=1e-8)
    assert found.stiffness == pytest.approx(0.1 * shifted.stiffness, rel=1e-8)
