"""The law of an accuracy on graphs of N nodes, drawn exactly, beside the formula for its standard deviation.

In a basis that begins with the labels and the inputs, the noise of a symmetric operator is a band matrix of independent entries.
Margins on a new graph, and the alignment of weights trained on one, are drawn from it by thousands without drawing a graph.
`python -m validation.scatter_law --draws 12000` prints the ratios of the drawn deviations to the formulas.
"""

import argparse

import numpy as np
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.theory.scatter import scatter

CASES = [
    (4.0, 2.0, 2.0, 0.1, 0.3),
    (4.0, 2.0, 2.0, 0.1, 0.36),
    (1.0, 2.0, 1.0, 0.1, 0.36),
    (4.0, 1.5, 2.0, 0.1, 0.4),
]
SIZE = 100  # of the band matrices: steps from the labels that a PageRank of these strengths feels
TOGETHER = 500


def outputs(rng, nodes, lam, theta, inputs):
    """PageRank of the inputs, one row for each draw, along the labels first and then across them."""
    draws, j = len(inputs), np.arange(SIZE)
    a = np.zeros((draws, SIZE, SIZE))
    a[:, j, j] = rng.normal(size=(draws, SIZE)) * np.sqrt(2 / nodes)
    for k, entries in (
        (1, rng.normal(size=(draws, SIZE - 1))),
        (2, np.sqrt(rng.chisquare(nodes - 2 - j[:-2], size=(draws, SIZE - 2)))),
    ):
        a[:, j[k:], j[:-k]] = a[:, j[:-k], j[k:]] = entries / np.sqrt(nodes)
    a[:, 0, 0] += lam
    z = np.zeros((draws, SIZE, 1))
    z[:, :2, 0] = inputs
    return np.linalg.solve(np.eye(SIZE) - theta * a, z)[..., 0]


def new_graph(rng, nodes, data, theta, c):
    """Variance of the accuracy on new graphs with these feature margins, one for each graph."""
    noise = rng.normal(size=c.size), np.sqrt(rng.chisquare(nodes - 1, size=c.size))
    h = outputs(
        rng,
        nodes,
        data.lam,
        theta,
        np.stack([1 + noise[0] / c / nodes**0.5, noise[1] / c / nodes**0.5], axis=1),
    )
    m = h[:, 0] / np.sqrt(np.sum(h[:, 1:] ** 2, axis=1))
    right, density = ndtr(m), np.exp(-0.5 * m**2) / np.sqrt(2 * np.pi)
    return right, right * (1 - right) - density**2 * (1 + 0.5 * m**2)


def feature_margins(rng, nodes, data, theta, draws):
    """Feature margins of weights trained on graphs of that size."""
    rho, columns = data.rho, round(nodes / data.alpha)
    q = outputs(rng, nodes, data.lam, theta, np.tile([rho, np.sqrt(rho * (1 - rho))], (draws, 1)))
    along, square = q[:, 0], np.sum(q**2, axis=1)
    uu, z = rng.chisquare(columns, size=draws) / nodes, rng.normal(size=draws)
    cross, own = np.sqrt(uu / nodes) * z, (z**2 + rng.chisquare(columns - 1, size=draws)) / nodes
    root = np.sqrt(data.mu)
    length = data.mu * along**2 * uu + 2 * root * np.sqrt(square) * along * cross + square * own
    return root * (root * along * uu + np.sqrt(square) * cross) / np.sqrt(length)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=12000)
    draws, rng = parser.parse_args().draws, np.random.default_rng(0)
    print("alpha lam mu rho theta nodes   drawn/formula   error")
    for alpha, lam, mu, rho, theta in CASES:
        data, gcn = gl.CSBM(alpha, lam, mu, rho, directed=False), gl.GCN(gl.PageRank(theta))
        for nodes in (600, 1800):
            parts = []
            for _ in range(0, draws, TOGETHER):
                c = feature_margins(rng, nodes, data, theta, TOGETHER)
                parts.append(new_graph(rng, nodes, data, theta, c))
            right, left = np.concatenate(parts, axis=1)
            ratio = (
                np.sqrt(np.var(right) + np.mean(left) / nodes)
                / scatter(data, gcn, nodes, to=data).deviation
            )
            print(
                alpha,
                lam,
                mu,
                rho,
                theta,
                nodes,
                f"{ratio:.4f}",
                f"{(0.5 / right.size) ** 0.5:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
