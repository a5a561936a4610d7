"""Laws of degrees: the quadrature has the moments of the law, with few nodes, and draws follow it."""

import math

import numpy as np
import pytest

import gcnlimit as gl

POWERS = (-2.0, -1.0, -0.5, 0.5, 2.0, 3.0, 4.0)


@pytest.mark.parametrize("variance", [1e-12, 1e-4, 0.1, 1.0, 10.0, 100.0])
def test_a_log_normal_law_has_its_moments_at_every_variance(variance):
    """E theta^p = exp(s^2 p (p - 1)/2), for p from -2 to 4 as far as the nodes reach."""
    law = gl.LogNormal(variance)
    for power in POWERS:
        exact = (1.0 + variance) ** (0.5 * power * (power - 1.0))
        assert law.average(law.theta**power) == pytest.approx(exact, rel=1e-12)
        assert law.moment(power) == pytest.approx(exact, rel=1e-12)
    assert law.theta.size < 400


@pytest.mark.parametrize("variance", [1e-12, 1e-4, 0.1, 0.3])
def test_a_gamma_law_has_its_moments(variance):
    """E theta^p = k (k + 1) ... (k + p - 1)/k^p with k = 1/variance."""
    law = gl.Gamma(variance)
    for power in (1, 2, 3, 4):
        exact = math.prod(1.0 + j * variance for j in range(power))
        assert law.average(law.theta**power) == pytest.approx(exact, rel=1e-12)
        assert law.moment(power) == pytest.approx(exact, rel=1e-12)
    assert law.average(1.0 / law.theta) == pytest.approx(1.0 / (1.0 - variance), rel=1e-12)
    assert law.theta.size < 400


PARETOS = [gl.Pareto(exponent, 10.0) for exponent in (0.5, 1.0, 1.5, 2.0, 2.5, 4.0)]


@pytest.mark.parametrize("law", [gl.LogNormal(0.5), gl.Gamma(0.5), *PARETOS])
def test_draws_have_the_moments_of_the_law(law):
    """Within four standard errors, of 10 000 propensities."""
    drawn = law.draw(np.random.default_rng(0), 10_000)
    for power in (-0.5, 0.5, 1.0, 1.5):
        values = drawn**power
        assert abs(values.mean() - law.moment(power)) < 4.0 * values.std() / 100.0


@pytest.mark.parametrize("degrees", [gl.Gamma(0.5), gl.LogNormal(1e-12), gl.Pareto(3.0, 20.0)])
@pytest.mark.parametrize("directed", [True, False])
def test_the_ratio_of_signal_to_noise_is_an_eigenvalue(degrees, directed):
    """The larger one of Eq. 11.14; of degrees that hardly vary it is that of degrees that are alike."""
    data = gl.CSBM(4.0, 0.7, 1.3, 0.1, directed, degrees=degrees)
    graph, features = 0.7**2 * (1 + directed), 1.3**2 / 4.0
    second = degrees.average(degrees.theta**2)
    both = [[graph * second, features], [graph, features]]
    assert data.snr == pytest.approx(np.linalg.eigvals(both).max(), rel=1e-11)
    if degrees.average((degrees.theta - 1.0) ** 2) < 1e-10:
        assert data.snr == pytest.approx(data.replaced(degrees=None).snr, rel=1e-9)


def test_a_power_law_of_any_exponent_that_is_allowed_has_finite_moments():
    for exponent in (-20.0, 1.0, 1.0 + 1e-13, 2.0, 50.0):
        for cut in (1.0 + 1e-9, 1e12):
            law = gl.Pareto(exponent, cut)
            assert [law.moment(0.0), law.moment(1.0)] == pytest.approx([1.0, 1.0])
            assert np.isfinite([*law.bounds, law.moment(2.0), law.moment(4.0)]).all()
    with pytest.raises(gl.ParameterError, match=r"exponent = -20\.5 is not allowed"):
        gl.Pareto(-20.5, 10.0)


def test_degrees_of_a_graph_reach_from_the_least_to_the_largest():
    assert gl.Degrees([3.0, 0.0, 1.0, 4.0]).bounds == (0.0, 2.0)


def test_a_power_law_is_continuous_in_its_exponent():
    """At 1 and 2 integrals are logarithms; draws of the same seed move with the exponent."""
    for exponent in (1.0, 2.0):
        laws = [gl.Pareto(exponent + shift, 30.0) for shift in (-1e-10, 0.0, 1e-10)]
        for power in (-1.0, 0.5, 3.0):
            below, here, above = (law.moment(power) for law in laws)
            assert below == pytest.approx(here, rel=1e-8)
            assert above == pytest.approx(here, rel=1e-8)
        below, here, above = (law.draw(np.random.default_rng(0), 50) for law in laws)
        assert here == pytest.approx(below, rel=1e-8)
        assert here == pytest.approx(above, rel=1e-8)


@pytest.mark.parametrize("law", [gl.Gamma(0.5), gl.LogNormal(1.8), gl.Pareto(3, 50)])
def test_few_propensities_have_the_averages_of_all(law):
    few = law.few(24)
    assert few.theta.size == 24
    for power in (-1.0, 0.5, 2.0, 3.0):
        assert few.moment(power) == pytest.approx(law.average(law.theta**power), rel=1e-12)


def test_few_propensities_keep_the_nodes_without_edges():
    degrees = np.arange(60)
    few = gl.Degrees(degrees).few(24)
    assert few.theta[0] == 0.0
    assert few.weight[0] == pytest.approx(1.0 / 60.0, rel=1e-9)
    same = gl.Degrees(degrees[:20])
    assert same.few(24) is same


@pytest.mark.parametrize(
    "law", [gl.Gamma(0.5), gl.LogNormal(0.5), gl.Pareto(3, 10), gl.Degrees([1, 3])]
)
@pytest.mark.parametrize("power", ["x", None, 1j, [1, 2], math.nan, 1e300, 17])
def test_a_moment_is_of_a_number_that_it_exists_for(law, power):
    """A power of 1e300 once gave NaN, or a number too large for Python."""
    with pytest.raises(gl.ParameterError, match="power"):
        law.moment(power)


@pytest.mark.parametrize("law", [gl.Degrees([1, 3]), gl.Spectrum([0.5, 1.5])])
@pytest.mark.parametrize("values", ["x", None, ["a", "b"], [1j, 2], [1, 2, 3], 1.0])
def test_an_average_is_of_a_number_for_each_level(law, values):
    with pytest.raises(gl.ParameterError, match="values"):
        law.average(values)
