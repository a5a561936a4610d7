"""Maxima of batches of functions on an interval, against dense scans."""

import numpy as np

from gcnlimit.numerics.scan import maximize_interval


def test_no_maximum_of_random_waves_is_missed():
    rng = np.random.default_rng(0)
    amplitude, phase = rng.normal(size=(200, 5)), rng.uniform(0, 2 * np.pi, size=(200, 5))

    def waves(u, which):
        return np.sum(amplitude[which] * np.cos(2 * np.arange(1, 6) * u[:, None] + phase[which]), axis=1)

    best = maximize_interval(waves, 200)
    dense = np.linspace(0, 1, 5001)
    scan = np.array([waves(dense, np.full(dense.size, k)).max() for k in range(200)])
    assert np.all(best.value >= scan - 1e-12)
    assert np.all(best.value <= scan + 1e-5)
    assert best.converged.all()
    np.testing.assert_allclose(waves(best.u[:, 0], np.arange(200)), best.value, atol=1e-12)
    assert np.any(best.u == 0.0)
    assert np.any(best.u == 1.0)


def test_interior_maximum_beside_an_end_differs_from_the_end():
    peak = np.array([-0.1, 1e-4, 1.0 - 1e-4, 1.1])
    best = maximize_interval(lambda u, which: -((u - peak[which]) ** 2), 4)
    np.testing.assert_allclose(best.u[:, 0], np.clip(peak, 0, 1), atol=1e-8)
    assert best.u[0, 0] == 0.0
    assert best.u[3, 0] == 1.0


def test_plateau_ends_at_the_end():
    best = maximize_interval(lambda u, which: 1.0 - np.exp(-500.0 * u) + 1e-16 * np.sin(1e6 * u), 3)
    assert np.all(best.u == 1.0)
