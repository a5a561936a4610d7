"""Positive matrices as rows: nothing is lost, and scalings of rows and columns are shifts."""

import numpy as np

from gcnlimit.numerics.linear import log_diagonal, pack_positive, unpack_positive


def matrices(size, seed=0):
    factor = np.random.default_rng(seed).normal(size=(5, size, size))
    return factor @ factor.transpose(0, 2, 1)


def test_nothing_is_lost():
    for size in (0, 1, 4):
        A = matrices(size)
        assert np.allclose(unpack_positive(pack_positive(A), size), A, rtol=1e-13, atol=0.0)


def test_a_row_of_zeros_stays_one():
    A = matrices(3)
    A[:, 1] = A[:, :, 1] = 0.0
    assert np.allclose(unpack_positive(pack_positive(A), 3), A, rtol=1e-13, atol=1e-290)


def test_scalings_are_shifts():
    A, d = matrices(3), np.array([1e-3, 2.0, 1e5])
    moved = pack_positive(A * np.outer(d, d)) - pack_positive(A)
    assert np.allclose(moved[:, :3], 2.0 * np.log(d), rtol=1e-13)
    assert np.allclose(moved[:, 3:], 0.0, atol=1e-14)


def test_sizes_are_those_of_the_entries():
    A = matrices(3)
    root = np.sqrt(np.einsum("bii->bi", A))
    size = unpack_positive(pack_positive(root[:, :, None] * root[:, None, :]), 3)
    i, j = np.tril_indices(3, -1)
    assert np.allclose(np.exp(log_diagonal(pack_positive(A), 3)[:, 3:]), size[:, i, j])


def test_a_negative_diagonal_is_not_allowed():
    assert np.isnan(pack_positive(-matrices(2))).all(axis=1).all()
