import numpy as np
import pytest

from gcnlimit.simulation.features import StreamedFeatures


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_streamed_features_are_the_same_matrix_however_they_are_read(dtype):
    rng = np.random.default_rng(0)
    X = StreamedFeatures(5, rng.choice([-1.0, 1.0], 333), rng.standard_normal(7).astype(dtype))
    whole = np.asarray(X)
    assert whole.dtype == dtype
    assert whole.shape == X.shape == (333, 7)
    for start, stop in ((0, 1), (63, 65), (100, 333)):
        assert np.array_equal(X.rows(start, stop), whole[start:stop])
    B, C = rng.standard_normal((7, 2)).astype(dtype), rng.standard_normal((333, 2)).astype(dtype)
    assert np.allclose(X @ B, whole @ B, rtol=1e-4)
    assert np.allclose(X.T @ C, whole.T @ C, atol=1e-3)
    assert np.allclose(X @ B[:, 0], whole @ B[:, 0], rtol=1e-4)


def test_noise_is_standard_and_uncorrelated_between_tiles():
    W = np.asarray(StreamedFeatures(1, np.ones(6400), np.zeros(50)))
    assert abs(W.mean()) < 4 / np.sqrt(W.size)
    assert abs(W.var() - 1) < 4 * np.sqrt(2 / W.size)
    tiles = W.reshape(100, -1)
    correlation = np.sum(tiles[1:] * tiles[:-1]) / np.sqrt(tiles[1:].size)
    assert abs(correlation) < 4
