"""Quadrature on the spiked semicircle against closed forms and brute integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import iv

from gcnlimit.numerics import spectral
from gcnlimit.numerics.spectral import SpikedSemicircle

SIGNALS = np.array([-3.0, -1.0001, -1.0, -0.7, 0.0, 0.3, 0.999999, 1.0, 1.000001, 2.0, 30.0])


def semicircle(x):
    return np.sqrt(4 - x**2) / (2 * np.pi)


def test_chebyshev_moments():
    """e(U_k(x/2)) = l^k on both sides of the transition (U_k continued outside [-2, 2] by its recurrence)."""
    measure = SpikedSemicircle.of(SIGNALS, 16)
    before, here = np.zeros_like(measure.x), np.ones_like(measure.x)
    for k in range(16):
        size = np.sum(measure.e * np.abs(here), axis=1)
        assert np.all(np.abs(np.sum(measure.e * here, axis=1) - SIGNALS**k) <= 1e-13 * size)
        before, here = here, measure.x * here - before


def test_weights_are_a_probability_and_the_excess_is_their_difference():
    measure = SpikedSemicircle.of(SIGNALS, 40)
    assert np.all(measure.e >= 0)
    assert np.allclose(measure.e.sum(axis=1), 1.0, rtol=0, atol=1e-13)
    assert np.allclose(measure.excess, measure.e - measure.tau, rtol=0, atol=1e-14)


def test_the_excess_keeps_its_digits_at_small_signal():
    measure = SpikedSemicircle.of(np.array([1e-13]), 20)
    assert np.sum(measure.excess * measure.x) == pytest.approx(1e-13, rel=1e-3)


@pytest.mark.parametrize("signal", [-2.0, -0.6, 0.4, 1.7])
def test_against_the_density(signal):
    def f(x):
        return np.cos(1.3 * x) + x**3

    measure = SpikedSemicircle.of(np.array([signal]), 40)
    bulk, _ = quad(
        lambda x: semicircle(x) / (1 + signal**2 - signal * x) * f(x), -2, 2, epsabs=1e-12
    )
    atom = (1 - signal**-2) * f(signal + 1 / signal) if abs(signal) > 1 else 0.0
    assert np.sum(measure.e * f(measure.x)) == pytest.approx(bulk + atom, abs=1e-10)


def test_exponentials_are_bessel_functions():
    t, signal = 1.9, 0.8
    measure = SpikedSemicircle.of(np.array([signal]), 60)
    order = np.arange(1, 80)
    bessel = np.sum(order * signal ** (order - 1) * iv(order, 2 * t)) / t
    assert np.sum(measure.e * np.exp(t * measure.x)) == pytest.approx(bessel, rel=1e-13)
    assert np.sum(measure.tau * np.exp(t * measure.x[0])) == pytest.approx(
        iv(1, 2 * t) / t, rel=1e-13
    )


def test_panels_average_like_the_whole_measure():
    ends = spectral.edge_panels(SIGNALS)
    panels, whole = spectral.panel_measure(SIGNALS, ends), SpikedSemicircle.of(SIGNALS, 80)
    for name in ("e", "excess"):
        for_panels, for_whole = (
            np.sum(getattr(m, name) * np.exp(0.1 * m.x), axis=1) for m in (panels, whole)
        )
        assert np.allclose(for_panels, for_whole, rtol=1e-12, atol=1e-12)
    assert np.exp(0.1 * panels.x) @ panels.tau == pytest.approx(iv(1, 0.2) / 0.1, rel=1e-13)


def test_panels_are_halved_down_to_the_distance_from_the_transition():
    for distance in (0.3, 1e-3, 1e-9):
        ends = spectral.edge_panels(np.array([0.2, np.exp(-distance)]))
        assert 0.5 * distance < ends[1] <= distance
        assert np.allclose(ends[2:-2] / ends[1:-3], 2.0)
    assert spectral.edge_panels(np.array([1.0]))[1] > 1e-13
    assert np.array_equal(spectral.halved(np.array([0.0, 1.0, 3.0])), [0.0, 0.5, 1.0, 2.0, 3.0])
    assert np.array_equal(
        spectral.halved(np.array([0.0, 1.0, 3.0]), np.array([False, True])), [0.0, 1.0, 2.0, 3.0]
    )


def test_each_panel_is_interpolated_by_its_own_polynomial():
    """Also one that jumps at every end, up to the degree of the nodes."""
    ends, rng = np.array([0.0, 0.3, 1.1, 2.0, np.pi]), np.random.default_rng(0)
    coefficients = rng.normal(size=(4, spectral.ORDER))

    def pieces(t):
        panel = np.searchsorted(ends[1:-1], t)
        return np.array([np.polyval(coefficients[k], at) for k, at in zip(panel, t, strict=True)])

    values = pieces(spectral.panel_angles(ends))
    t = np.concatenate([[0.0, np.pi], ends[1:-1], rng.uniform(0.0, np.pi, 50)])
    at_t = spectral.interpolate(ends, np.stack([values, 2.0 * values]), t)
    exact = pieces(t)
    assert np.allclose(at_t, [exact, 2.0 * exact], rtol=1e-9, atol=1e-9 * np.abs(values).max())


def test_the_tail_of_a_panel_is_the_larger_of_its_last_two_coefficients():
    place = (spectral.panel_angles(np.array([0.0, 2.0, 4.0])).reshape(2, -1) - [[1.0], [3.0]]).T
    series = np.zeros((spectral.ORDER, 2))
    series[-3:, 0], series[-3:, 1] = (7.0, -2.0, 1.0), (7.0, 0.5, -3.0)
    values = np.polynomial.legendre.legval(place, series, tensor=False)
    assert np.allclose(spectral.panel_tails(values.T), [2.0, 3.0], rtol=1e-12)
