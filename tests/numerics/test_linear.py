"""Linear systems, singular and not; positive matrices as rows: nothing is lost, and scalings are shifts."""

import numpy as np
import pytest

from gcnlimit.numerics.linear import (
    conjugate_gradients,
    log_diagonal,
    pack_positive,
    solve_each,
    unpack_positive,
)


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


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_eigenvalues():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    matrix = basis * np.repeat([0.5, 1.0, 4.0], [5, 10, 5]) @ basis.T
    source = np.arange(20.0)
    x, settled, steps, last = conjugate_gradients(lambda p: matrix @ p, source, 50, 1e-12)
    assert settled
    assert steps == 3
    np.testing.assert_allclose(x, np.linalg.solve(matrix, source), rtol=1e-12)
    before, settled, steps, _ = conjugate_gradients(lambda p: matrix @ p, source, 2, 1e-12)
    assert (settled, steps) == (False, 2)
    assert last == pytest.approx(np.sqrt(np.mean((x - before) ** 2)), rel=1e-9)
    assert conjugate_gradients(lambda p: -matrix @ p, source, 50, 1e-12)[:3] == (None, False, 0)


def test_a_singular_matrix_spoils_only_its_own_solution():
    A = matrices(3)
    A[2] = 0.0
    x = solve_each(A, np.ones((1, 3, 1)))
    assert np.isnan(x[2]).all()
    good = [0, 1, 3, 4]
    np.testing.assert_allclose((A @ x)[good], 1.0, rtol=1e-8)
