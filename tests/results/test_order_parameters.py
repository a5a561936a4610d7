"""Order parameters in other units: a filter twice as large at four times the regularization is the same network."""

import numpy as np
import pytest

import gcnlimit as gl


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_scale_of_the_filter_goes_into_the_weights(loss):
    data, coefficients, gain = gl.CSBM(2, 1.0, 2.0, 0.2), np.array([1.0, 0.5]), 2.0

    def weights(scale, reg):
        gcn = gl.GCN(gl.Polynomial(coefficients * scale), loss, reg, symmetrize=True)
        return gl.predict(data, gcn).order_parameters.weights

    expected, divided = weights(1.0, 0.7 * gain**2), weights(1.0 / gain, 0.7)
    for name, value in vars(divided.in_units(np.array(gain))).items():
        assert value == pytest.approx(getattr(expected, name), rel=1e-6), name
