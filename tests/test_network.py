"""A normalized filter: the regularization means the same whatever the depth, in theory and on graphs."""

import numpy as np
import pytest
from problems import FILTERS, WELL_LABELLED

import gcnlimit as gl

everywhere = pytest.mark.parametrize(
    ("filter", "symmetrize"),
    [(f, s) for f in FILTERS[:4] for s in (True, False)],
    ids=lambda x: repr(x)[:20],
)


@everywhere
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_it_is_a_regularization_in_units_of_the_gain(filter, symmetrize, loss):
    gain = float(np.exp(filter.log_gain(symmetrize)))
    mine = gl.predict(WELL_LABELLED, gl.GCN(filter, loss, 0.7, symmetrize, normalize=True))
    same = gl.predict(WELL_LABELLED, gl.GCN(filter, loss, 0.7 * gain**2, symmetrize))
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss"):
        assert getattr(mine, name) == pytest.approx(getattr(same, name), rel=1e-8)
    assert (
        pytest.approx(same.order_parameters.weights.Q * gain**2, rel=1e-8)
        == mine.order_parameters.weights.Q
    )
    if filter.deep:
        assert np.allclose(
            mine.order_parameters.layers.Q, same.order_parameters.layers.Q * gain**2, rtol=1e-7
        )


@pytest.mark.parametrize("symmetrize", [True, False])
def test_a_scale_of_the_filter_drops_out(symmetrize):
    one, two = (
        gl.predict(
            WELL_LABELLED, gl.GCN(gl.Polynomial(g), reg=0.5, symmetrize=symmetrize, normalize=True)
        )
        for g in ([1.0, 0.5, 0.2], [3.7, 1.85, 0.74])
    )
    assert one.test_loss == pytest.approx(two.test_loss, rel=1e-10)


@everywhere
def test_networks_on_a_graph_have_the_same_units(filter, symmetrize):
    instance = gl.sample(WELL_LABELLED, nodes=300, degree=30, seed=1)
    gain = float(np.exp(filter.log_gain(symmetrize)))
    mine = gl.fit(instance, gl.GCN(filter, reg=0.7, symmetrize=symmetrize, normalize=True))
    same = gl.fit(instance, gl.GCN(filter, reg=0.7 * gain**2, symmetrize=symmetrize))
    assert np.allclose(mine.outputs, same.outputs, rtol=1e-7)
    assert np.allclose(mine.weights, same.weights * gain, rtol=1e-7)
    infinite = [
        gl.fit(instance, gl.GCN(filter, symmetrize=symmetrize, normalize=n)) for n in (True, False)
    ]
    assert np.allclose(infinite[0].outputs * gain**2, infinite[1].outputs, rtol=1e-7)


@pytest.mark.parametrize("depth", [48, 64, 200])
def test_deep_networks_converge_to_the_continuous_one(depth):
    """Their gain, about 1e104 at 64 layers, left the range in which an absolute regularization makes sense."""
    deep = gl.GCN(gl.Residual.constant(depth / 1.5, depth), reg=1.0, normalize=True)
    limit = gl.predict(
        WELL_LABELLED, gl.GCN(gl.Diffusion(1.5), reg=1.0, normalize=True)
    ).test_accuracy
    assert gl.predict(WELL_LABELLED, deep).test_accuracy == pytest.approx(limit, abs=0.2 / depth)
