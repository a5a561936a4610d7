import os

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.simulation.data.features import LARGEST_KEY, StreamedFeatures, one_pass


@pytest.fixture(params=["cpu", os.environ.get("GCNLIMIT_TEST_DEVICE", "torch:cpu")])
def device(request):
    if request.param != "cpu":
        pytest.importorskip("torch")
    return request.param


def features(dtype=np.float64, columns=70, device="cpu"):
    rng = np.random.default_rng(0)
    codes, spike = rng.standard_normal((333, 2)), rng.standard_normal((columns, 2)).astype(dtype)
    return StreamedFeatures(5, codes, spike, scale=rng.uniform(0.5, 2.0, columns), device=device)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_streamed_features_are_the_same_matrix_however_they_are_read(dtype, device):
    X, rng = features(dtype, device=device), np.random.default_rng(1)
    whole = np.asarray(X)
    assert whole.dtype == dtype
    assert whole.shape == X.shape == (333, 70)
    B, C = rng.standard_normal((70, 2)).astype(dtype), rng.standard_normal((333, 2)).astype(dtype)
    close = {"rtol": 0, "atol": 1e-12 if dtype == np.float64 else 1e-3}
    assert np.allclose(X @ B, whole @ B, **close)
    assert np.allclose(X.T @ C, whole.T @ C, **close)
    assert np.allclose(X @ B[:, 0], whole @ B[:, 0], **close)
    for streamed, stored in zip(one_pass(X, X.backend.place(C)), one_pass(whole, C), strict=True):
        assert np.allclose(X.backend.host(streamed), stored, rtol=0, atol=300 * close["atol"])


def test_products_do_not_depend_on_the_threads(monkeypatch):
    X, C = features(columns=900), np.random.default_rng(1).standard_normal((333, 3))
    answers = []
    for threads in ("1", "3"):
        monkeypatch.setenv("GCNLIMIT_THREADS", threads)
        answers.append((np.asarray(X), X.T @ C, *one_pass(X, C)))
    for one, three in zip(*answers, strict=True):
        assert np.array_equal(one, three)


def test_more_features_continue_the_same_matrix(device):
    few, many = (
        StreamedFeatures(7, np.zeros((50, 1)), np.zeros((m, 1)), device=device) for m in (340, 575)
    )
    assert np.array_equal(np.asarray(many)[:, :340], few)


@pytest.mark.parametrize("key", [0, 1 << 53, 1 << 63, LARGEST_KEY - 1])
def test_neighbouring_keys_have_independent_noise(key):
    blank = np.zeros((2000, 1)), np.zeros((20, 1))
    one, next_one = (np.asarray(StreamedFeatures(k, *blank)).ravel() for k in (key, key + 1))
    assert abs(one @ next_one) < 4 * np.sqrt(one.size)


def test_noise_is_standard_and_uncorrelated_between_tiles(device):
    W = np.asarray(StreamedFeatures(1, np.ones((100, 1)), np.zeros((6400, 1)), device=device)).T
    assert abs(W.mean()) < 4 / np.sqrt(W.size)
    assert abs(W.var() - 1) < 4 * np.sqrt(2 / W.size)
    tiles = W.reshape(200 if device == "cpu" else 100, -1)
    correlation = np.sum(tiles[1:] * tiles[:-1]) / np.sqrt(tiles[1:].size)
    assert abs(correlation) < 4


@pytest.mark.parametrize("alpha", [0.5, 4.0])
def test_there_are_alpha_nodes_for_each_feature(alpha):
    i = gl.sample(gl.CSBM(alpha, 1.0, 1.0, 0.1), nodes=200, degree=10, seed=0)
    assert 200 / i.features.shape[1] == alpha
