"""Ridge regression: leave-one-out is what refitting gives, by eigenvectors and by products alone."""

import numpy as np
import pytest
from scipy import sparse

from gcnlimit.numerics import ridge
from gcnlimit.numerics.ridge import Blocks, KernelRidge, Ridge, shifted_solutions


def targets(classes, count):
    """One column of -1 and 1 for each class, and a single one for two."""
    one = np.where(classes[:, None] == np.arange(count), 1.0, -1.0)
    return one[:, 1:] if count == 2 else one


@pytest.mark.parametrize("width", [4, 50], ids=["primal", "dual"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 20)], ids=["equal", "weighted"])
def test_left_out_predictions_are_those_of_refitting(width, weights):
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((20, width)), targets(rng.integers(3, size=20), 3)
    w = np.ones(20) if weights is None else weights
    ridge = Ridge(Z, weights)
    found = ridge.solve(Y, np.array([0.2]))[0][0]
    for i in range(20):
        rest = np.arange(20) != i
        A = np.column_stack([Z, np.ones(20)])[rest]
        penalty = 0.2 * ridge.scale * np.diag([*np.ones(width), 0.0])
        beta = np.linalg.solve(A.T @ (w[rest, None] * A) + penalty, A.T @ (w[rest, None] * Y[rest]))
        assert found[i] == pytest.approx(Z[i] @ beta[:-1] + beta[-1], abs=1e-9)


def test_the_smaller_gram_matrix_is_as_good():
    """More columns than rows, or as many rows again: columns of zeros change nothing but the route."""
    rng = np.random.default_rng(1)
    Z, Y = rng.standard_normal((20, 6)), rng.standard_normal((20, 2))
    by_columns, by_rows = Ridge(Z), Ridge(np.hstack([Z, np.zeros((20, 30))]))
    assert by_rows.scale == pytest.approx(by_columns.scale)
    reg = np.array([0.3, 3.0])
    assert np.allclose(by_rows.solve(Y, reg)[1], by_columns.solve(Y, reg)[1], atol=1e-10)
    reg = np.logspace(-3, 3, 7)
    assert np.allclose(by_rows.solve(Y, reg)[0], by_columns.solve(Y, reg)[0], atol=1e-9)


def test_many_rows_are_as_exact_as_single_precision():
    """Above a thousand rows the largest matrices are in single precision; the last rows have no weight to speak of."""
    rng = np.random.default_rng(2)
    Z, Y = rng.standard_normal((900, 30)), rng.standard_normal((900, 2))
    weights = np.append(np.ones(900), np.full(200, 1e-9))
    reg = np.array([0.01, 1.0])
    small, large = Ridge(Z), Ridge(np.vstack([Z, Z[:200]]), weights)
    reg_large = reg * small.scale / large.scale
    found = large.solve(np.vstack([Y, Y[:200]]), reg_large)[0][:, :900]
    assert np.allclose(found, small.solve(Y, reg)[0], atol=1e-5)


@pytest.mark.parametrize(
    "rows", [np.zeros((6, 3)), np.full((6, 3), 0.1), np.full((6, 9), 0.1), np.full((6, 1), 1e6)]
)
def test_equal_rows_predict_the_mean(rows):
    """Their spread is rounding, in units of which weights and outputs elsewhere would be astronomical."""
    Y, weights = targets(np.array([0, 0, 0, 0, 1, 1]), 2), np.linspace(1.0, 2.0, 6)
    ridge, reg = Ridge(rows, weights), np.array([0.01, 1.0])
    others = (weights @ Y - weights[:, None] * Y) / (weights.sum() - weights[:, None])
    assert ridge.solve(Y, reg)[0] == pytest.approx(np.broadcast_to(others, (2, 6, 1)), abs=1e-12)
    assert np.abs(np.ones(rows.shape[1]) @ rows.T @ ridge.solve(Y, reg)[1]).max() < 1e-9 / max(
        np.abs(rows).max(), 1e-9
    )


def columns(n=400):
    """Rows of two blocks, a dense and a sparse one, and their weights."""
    rng = np.random.default_rng(3)
    dense, light = (
        rng.standard_normal((n, 30)) + 0.3,
        sparse.csr_array((rng.random((n, 60)) < 0.1).astype(float)),
    )
    return [dense, light], rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("weighted", [True, False])
def test_products_alone_solve_what_eigenvectors_solve(weighted, monkeypatch):
    """Blocks in units of their root mean square: coefficients to single precision, leave-one-out to the noise of its probes."""
    monkeypatch.setattr(ridge, "SOLVED", 1e-7)
    monkeypatch.setattr(ridge, "LARGE", 399)
    blocks, weights = columns()
    weights = weights if weighted else np.ones(400)
    sizes = [
        np.sqrt(weights @ np.asarray((b * b).sum(axis=1)).ravel() / weights.sum()) for b in blocks
    ]
    Z = np.hstack([blocks[0] / sizes[0], blocks[1].toarray() / sizes[1]])
    share = weights / weights.sum()
    exact, iterated = Ridge(Z, weights), KernelRidge(Blocks(blocks, share), weights)
    assert iterated.scale == pytest.approx(exact.scale, rel=1e-5)
    classes = (Z @ np.random.default_rng(0).standard_normal((90, 3))).argmax(axis=1)
    Y, reg = targets(classes, 3), np.array([0.1, 1.0, 10.0])
    (wanted, dual), (found, iterated_dual) = exact.solve(Y, reg), iterated.solve(Y, reg)
    assert np.allclose(iterated_dual, dual, atol=1e-4 * np.abs(dual).max())
    W, intercept = exact.linear(Y, dual[0])
    V, shift = iterated.linear(Y, iterated_dual[0])
    side_by_side = np.hstack([blocks[0], blocks[1].toarray()])
    assert np.allclose(side_by_side @ V + shift, Z @ W + intercept, atol=1e-3)
    residual, approximate = Y - wanted, Y - found
    slope = np.sum(residual * approximate, axis=(1, 2)) / np.sum(residual**2, axis=(1, 2))
    assert slope == pytest.approx(1.0, abs=0.1)
    assert np.mean(np.sign(wanted) == np.sign(found)) > 0.97


@pytest.mark.parametrize("pairs", [True, False])
def test_products_of_rows_are_enough(pairs):
    """Few rows: the same regression from the rows, their products and their blocks; of pairs of columns, from products."""
    blocks, weights = columns(120)
    Z = np.hstack([blocks[0], blocks[1].toarray()])
    K = Z @ Z.T
    kernels = [K, Blocks([Z], weights / weights.sum())]
    if pairs:
        one = np.column_stack([np.ones(120), Z])
        Z = np.einsum("ij,ik->ijk", one, one).reshape(120, -1)
        kernels = [(1.0 + K) ** 2]
    exact, Y, reg = Ridge(Z, weights), targets(np.arange(120) % 3, 3), np.array([0.01, 1.0])
    wanted, dual = exact.solve(Y, reg)
    fitted = Z @ exact.linear(Y, dual[0])[0] + exact.linear(Y, dual[0])[1]
    for kernel in kernels:
        by_products = KernelRidge(kernel, weights)
        found, a = by_products.solve(Y, reg)
        np.testing.assert_allclose(found, wanted, atol=1e-8)
        W, intercept = by_products.linear(Y, a[0])
        rows = Z if W.shape[0] == Z.shape[1] else kernel
        np.testing.assert_allclose(rows @ W + intercept, fitted, atol=1e-8)


def test_every_shift_is_solved_as_by_itself(monkeypatch):
    monkeypatch.setattr(ridge, "SOLVED", 1e-12)
    rng = np.random.default_rng(0)
    root = rng.standard_normal((30, 20))
    K, B, shifts = (
        root @ root.T,
        np.column_stack([rng.standard_normal((30, 3)), np.zeros(30)]),
        np.array([3.0, 0.2, 1.0]),
    )
    found = shifted_solutions(lambda block: K @ block, B, shifts)
    wanted = [np.linalg.solve(K + s * np.eye(30), B) for s in shifts]
    assert np.allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("level", [0.0, 1.0, 1e4])
def test_equal_sparse_rows_predict_the_mean(level):
    """Also where a block is 0 and rows are equal up to the rounding of single precision."""
    n = 60
    blocks = [
        np.full((n, 5), level) * (1.0 + 1e-8 * np.arange(n))[:, None],
        sparse.csr_array((n, 4)),
    ]
    ridge, Y = (
        KernelRidge(Blocks(blocks, np.full(n, 1 / n)), np.ones(n)),
        targets(np.arange(n) % 3 == 0, 2),
    )
    left_out, dual = ridge.solve(Y, np.array([0.1, 30.0]))
    W, intercept = ridge.linear(Y, dual[0])
    assert left_out == pytest.approx(np.broadcast_to((Y.sum() - Y) / (n - 1), (2, n, 1)), abs=1e-3)
    assert (blocks[0] @ W[:5] + intercept) == pytest.approx(Y.mean(), abs=1e-2)
