"""The benchmarks as far as they are not timings: fitted powers and tables."""

import numpy as np
import pytest

from benchmarks.cost import Sizes, batch_curve, depth_curve
from benchmarks.measure import curve, power, row
from benchmarks.plots import PICTURES, draw
from benchmarks.tables import page, table


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 2.0, 3.0])
def test_a_power_is_fitted_exactly(exponent):
    x = np.array([2.0, 8.0, 16.0, 64.0])
    for relative in (None, [0.1, 0.2, 0.1, 0.3]):
        assert power(x, 7.0 * x**exponent, relative)[0] == pytest.approx(exponent, abs=1e-12)
    assert power(x, 7.0 * x**exponent)[1] == pytest.approx(0.0, abs=1e-7)


def test_the_error_of_a_power_is_that_of_its_scatter():
    """Exponents fitted to many noisy copies of one law scatter as each of them says."""
    rng, x, spread = np.random.default_rng(0), np.geomspace(1, 100, 6), 0.1
    fits = [power(x, x**1.5 * np.exp(rng.normal(0, spread, 6)), [spread] * 6) for _ in range(400)]
    slopes, errors = np.array(fits).T
    assert np.std(slopes) == pytest.approx(errors[0], rel=0.15)
    assert np.mean(slopes) == pytest.approx(1.5, abs=4 * errors[0] / 20)


@pytest.mark.slow
def test_costs_are_measured_told_and_drawn(tmp_path):
    sizes = Sizes(depths=(1, 2, 4), batches=(1, 2, 4), repeat=1)
    curves = [
        depth_curve("directed", False, sizes, points=2),
        batch_curve("directed", False, sizes),
    ]
    for what in ("simulated graph, time", "simulated graph, memory", "scatter of the accuracy"):
        curves.append(curve(what, "nodes", [1, 2, 4], [1.0, 4.0, 16.0], unit="s", last=3))
    told = table("cost", curves, curves)
    assert told.count("2.00 ± 0.00 | 2.00") == 3
    assert [path.stem for path in draw(curves, tmp_path)] == list(PICTURES)


def test_ratios_stand_beside_those_of_the_last_run():
    now, before = row("a", 1.0, "b", 4.0), row("a", 1.0, "b", 3.0)
    assert "| a | 1 s | b | 4 s | 4 | 3 |" in table("theory", [now], [before])
    assert page({"theory": [now], "machine": "one core"}, ["theory", "tune"]).count("##") == 1
