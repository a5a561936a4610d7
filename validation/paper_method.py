"""The paper's own numerics at finite regularization: Monte-Carlo averages, Newton's method for each sample.

Written from the paper's self-consistent equations (with the covariance corrected to the inverse Hessian) for a directed graph
and the logistic loss, independently of the library: ``python -m validation.paper_method``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np


def root(matrix):
    """Symmetric square root of a positive matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def proximal(omega, v):
    """Newton's method for each sample: the output of a train node under the logistic loss."""
    x = np.zeros_like(omega)
    for _ in range(30):
        s = 1.0 / (1.0 + np.exp(x))
        step = (omega + v * s - x) / (1.0 + v * s * (1.0 - s))
        x += step
        if np.max(np.abs(step)) < 1e-10:
            break
    return x


def iterate(data, c, reg, samples, iterations):
    """Iterate the equations; return test accuracy, train loss and test loss of the last iteration."""
    alpha, lam, mu, rho = data["alpha"], data["lam"], data["mu"], data["rho"]
    rng, K = np.random.default_rng(0), len(c)
    m_w, Q_w, V_w = 0.0, 0.1, 1.0 / (alpha * reg)
    m, Q, V = np.zeros(K), 0.1 * np.eye(K), V_w * np.eye(K)
    mh, Qh, Vh = np.zeros(K), 0.1 * np.eye(K), rho * np.eye(K)
    D = np.eye(K + 1) - np.diag(c, -1)
    for _ in range(iterations):
        G0 = np.zeros((K + 1, K + 1))
        G0[0, 0], G0[1:, 1:] = V_w, V
        G0_inverse = np.linalg.inv(G0)
        precision = D.T @ G0_inverse @ D
        precision[:K, :K] += Vh
        C = np.linalg.inv(precision)
        B = np.concatenate([[np.sqrt(mu) * m_w], lam * m])[:, None] + np.concatenate(
            [np.sqrt(Q_w) * rng.normal(size=(1, samples)), root(Q) @ rng.normal(size=(K, samples))]
        )
        B_h = np.concatenate(
            [mh[:, None] + root(Qh) @ rng.normal(size=(K, samples)), np.zeros((1, samples))]
        )
        test = C @ (B_h + D.T @ (G0_inverse @ B))
        v = C[K, K]
        x = proximal(test[K], v)
        train = test + np.outer(C[:, K] / v, x - test[K])
        s = 1.0 / (1.0 + np.exp(x))
        curvature = s * (1.0 - s)
        shrink = rho * np.mean(curvature / (1.0 + v * curvature))
        cov = C - shrink * np.outer(C[:, K], C[:, K])

        q_test, q_train = (G0_inverse @ (D @ h - B) for h in (test, train))
        mh_w = np.sqrt(mu) * (rho * q_train[0] + (1 - rho) * q_test[0]).mean()
        second = rho * q_train @ q_train.T / samples + (1 - rho) * q_test @ q_test.T / samples
        inner = G0_inverse - G0_inverse @ D @ cov @ D.T @ G0_inverse
        Vh_w, Vh = inner[0, 0], inner[1:, 1:]
        mh = lam * (rho * q_train[1:] + (1 - rho) * q_test[1:]).mean(axis=1)
        Qh_w, Qh = second[0, 0], second[1:, 1:]
        m_w, V_w = mh_w / (alpha * (reg + Vh_w)), 1.0 / (alpha * (reg + Vh_w))
        Q_w = (Qh_w + mh_w**2) / (alpha * (reg + Vh_w) ** 2)
        m = (rho * train[:K] + (1 - rho) * test[:K]).mean(axis=1)
        Q = rho * train[:K] @ train[:K].T / samples + (1 - rho) * test[:K] @ test[:K].T / samples
        V = cov[:K, :K]
    losses = (np.logaddexp(0.0, -h).mean() for h in (x, test[K]))
    return (float(np.mean(test[K] > 0)), *map(float, losses))


def main():
    import gcnlimit as gl

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--iterations", type=int, default=40)
    arguments = parser.parse_args()
    data, c, reg = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}, np.array([1.0, 1.0]), 1.0
    start = time.perf_counter()
    accuracy, train_loss, test_loss = iterate(data, c, reg, arguments.samples, arguments.iterations)
    print(
        f"paper's method: {accuracy:.5f} {train_loss:.5f} {test_loss:.5f} in {time.perf_counter() - start:.1f} s"
    )
    start = time.perf_counter()
    p = gl.predict(gl.CSBM(**data), gl.GCN(gl.Residual(c), "logistic", reg, symmetrize=False))
    elapsed = time.perf_counter() - start
    print(
        f"gcnlimit:       {p.test_accuracy:.5f} {p.train_loss:.5f} {p.test_loss:.5f} in {elapsed:.3f} s"
    )


if __name__ == "__main__":
    main()
