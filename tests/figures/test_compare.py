"""The figure of a comparison."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import gcnlimit as gl
from gcnlimit.figures.compare import draw


def compared(**lam):
    return gl.compare(gl.CSBM(alpha=4, mu=2.0, rho=0.1, **lam), depth=1, order=2)


def test_bars_for_a_point():
    axes = draw(compared(lam=1.0), Figure().add_subplot())
    assert len(axes.patches) == 8
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(ends, compared(lam=1.0).test_accuracy)


def test_curves_of_the_gap_over_one_parameter():
    lam = np.array([0.5, 1.0])
    axes = draw(compared(lam=lam), Figure().add_subplot(), over=("lam", lam))
    assert axes.get_xlabel() == "lam"
    assert len(axes.lines) == 7
    np.testing.assert_allclose(axes.lines[2].get_ydata(), compared(lam=lam).gap[2])


def test_two_parameters_are_refused():
    with pytest.raises(gl.ParameterError, match="vary one"):
        draw(compared(lam=np.array([[0.5], [1.0]])), Figure().add_subplot())
