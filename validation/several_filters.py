"""The best margin of several filters, each with weights of its own (SIGN), at infinite regularization: a search.

``python -m validation.several_filters`` prints the accuracies of three filters that docs/findings/pagerank-to-deploy.md gives.
"""

import numpy as np
from scipy.special import ndtr

import gcnlimit as gl
from gcnlimit.choose.linear_ceiling import Pairs
from gcnlimit.numerics.maximize import ascend
from gcnlimit.theory.points import Points

POINTS = ((4, 1.0, 2.0, 0.1), (1, 1.0, 2.0, 0.1), (1, 0.6, 4.0, 0.02), (4, 1.0, 0.5, 0.1))


def main():
    for point in POINTS:
        print(*point, "|", f"{several_filters(gl.CSBM(*point)):.4f}")


def several_filters(data, filters=3, climbs=8):
    """Accuracy of the best network of so many filters in the basis of the pieces, from random starts (Eq. 10.18)."""
    pairs = Pairs.at(Points.of(data, gl.GCN(gl.PageRank(0.0))), 0)
    size, features = pairs.size, slice(pairs.size**2)
    b, V = pairs.b[features], pairs.V[features, features]

    def squares(x):
        g = x.reshape(len(x), filters, size)
        return g, (g.mT @ g).reshape(len(x), -1)

    def value(x, rows):
        p = squares(x)[1]
        return p @ b / np.sqrt(np.vecdot(p @ V, p))

    def gradient(x, rows):
        g, p = squares(x)
        carried = p @ V
        variance = np.vecdot(carried, p)[:, None]
        slope = ((b - (p @ b)[:, None] * carried / variance) / np.sqrt(variance)).reshape(len(x), size, size)
        return (g @ (slope + slope.mT)).reshape(x.shape)

    start = np.random.default_rng(0).normal(size=(climbs, filters * size))
    return ndtr(np.max(ascend(value, gradient, start, steps=400, tol=1e-9, gain=1e-12).f))


if __name__ == "__main__":
    main()
