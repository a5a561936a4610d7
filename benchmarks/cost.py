"""Cost of a finite-regularization prediction against the depth and the batch, with fitted exponents.

``python -m benchmarks.cost`` measures, fits and draws docs/images/cost.png; the cost against the number of nodes of a simulation
is in ``python -m benchmarks.scaling``.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import gcnlimit as gl

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
DEPTHS = (2, 4, 8, 16, 32, 64)
BATCHES = (1, 4, 16, 64, 256, 1024)
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "cost.png"


def depth_cost() -> list[float]:
    """Seconds of an iteration against the depth, at c growing with it."""
    seconds = []
    for K in DEPTHS:
        start = time.process_time()
        prediction = gl.predict(DATA, gl.GCN(gl.Residual.constant(K / 1.5, K), reg=float((K / 1.5) ** (2 * K))))
        seconds.append((time.process_time() - start) / prediction.iterations)
    return seconds


def batch_cost() -> list[float]:
    """Seconds a point against the number of points solved together."""
    rng = np.random.default_rng(0)
    seconds = []
    for size in BATCHES:
        network = gl.GCN(gl.Residual(rng.uniform(0, 2, (size, 3))), reg=10 ** rng.uniform(-1, 2, size))
        start = time.process_time()
        gl.predict(DATA, network)
        seconds.append((time.process_time() - start) / size)
    return seconds


def exponent(x: tuple[int, ...], y: list[float], last: int) -> float:
    """Slope of log y against log x over the last points."""
    return float(np.polyfit(np.log(x[-last:]), np.log(y[-last:]), 1)[0])


def main() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    depth, batch = depth_cost(), batch_cost()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    slopes = exponent(DEPTHS, depth, 2), exponent(BATCHES, batch, 6)
    for axes, x, y, label, slope in (
        (left, DEPTHS, 1e3 * np.array(depth), "depth $K$", slopes[0]),
        (right, BATCHES, 1e3 * np.array(batch), "points solved together", slopes[1]),
    ):
        axes.loglog(x, y, "o-", color="#0072B2")
        axes.set(xlabel=label, title=f"exponent {slope:+.2f}")
        axes.set_xticks(x, [str(value) for value in x])
        axes.minorticks_off()
    left.set_yticks([1, 2, 4], ["1", "2", "4"])
    left.set_ylabel("ms an iteration, one point")
    right.set_ylabel("ms a point, $K = 3$")
    figure.savefig(PICTURE, dpi=110)
    print(f"an iteration costs K^{slopes[0]:.2f} between K = 32 and 64; a point costs batch^{slopes[1]:.2f} up to 1024")


if __name__ == "__main__":
    main()
