"""Training under a penalty by splitting: stationary to the tolerance asked, within the iterations allowed."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.simulation.train import penalized as splitting

rng = np.random.default_rng(3)
Z = rng.standard_normal((40, 15)) + 0.3


@pytest.mark.parametrize("loss", [gl.Square(), gl.Logistic(), gl.Hinge()])
@pytest.mark.parametrize("reg", [0.3, 5.0])
def test_weights_do_not_depend_on_the_size_of_the_rows(loss, reg):
    """Rows and the square root of the regularization in another unit are the same problem: w in units of their ratio."""
    penalty = gl.ElasticNet(0.0)
    w, residual = splitting.penalized(Z, loss, penalty, reg, 1e-9)
    scaled, _ = splitting.penalized(100.0 * Z, loss, penalty, 1e4 * reg, 1e-9)
    assert residual <= 1e-9
    np.testing.assert_allclose(100.0 * scaled, w, rtol=1e-6, atol=1e-8)


def test_the_last_iteration_allowed_is_looked_at(monkeypatch):
    """As many iterations as lie between two looks at the residual end with a look, and one fewer with none."""
    monkeypatch.setattr(splitting, "_ITERATIONS", splitting._CHECK)
    monkeypatch.setattr(splitting, "_ACCEPTED", 1.0)
    w, residual = splitting.penalized(Z, gl.Square(), gl.ElasticNet(0.5), 1.0, 1e-15)
    assert w.any()
    assert 0.0 < residual < 1.0
    monkeypatch.setattr(splitting, "_ITERATIONS", splitting._CHECK - 1)
    with pytest.raises(gl.ConvergenceError, match="residual of inf; raise reg"):
        splitting.penalized(Z, gl.Square(), gl.ElasticNet(0.5), 1.0, 1e-15)
