"""The averages of a loss where the corner of its proximal operator is too narrow to be resolved."""

import numpy as np
import pytest
from scipy.stats import norm

import gcnlimit as gl
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
    groups = list(_alike(Output(ones, deviation**2, ones)))
    assert sorted(np.concatenate(groups)) == list(range(deviation.size))
    for rows in groups:
        wide = np.maximum(deviation[rows], 1.0)
        assert wide.max() <= 2.0 * wide.min() * (1 + 1e-12)
        assert rows.size == 1 or rows.size * 30.0 * wide.max() <= _GRID
    refused = Output(*(np.array([x, 1.0, 2.0]) for x in (np.nan, 1.0, 1.0)))
    assert [rows.tolist() for rows in _alike(refused)] == [[1, 2]]
