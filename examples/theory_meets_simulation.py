"""How well do simulation and theory agree?

Several networks, losses and regularizations on sampled graphs, compared with the predictions for infinite size. The standard
error of a few trials is uncertain, so distances are normal deviates of the same probability by Student's law.

    python examples/theory_meets_simulation.py --nodes 10000 --trials 10
"""

import argparse
import math

from scipy.stats import norm
from scipy.stats import t as student

import gcnlimit as gl

NETWORKS = {
    "one layer": gl.GCN(gl.Residual([1.0]), symmetrize=True),
    "two layers, directed": gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=False),
    "diffusion": gl.GCN(gl.Diffusion(1.488), symmetrize=True),
    "diffusion, ridge": gl.GCN(gl.Diffusion(1.0), reg=1.0, symmetrize=True),
    "diffusion, logistic": gl.GCN(gl.Diffusion(1.0), loss="logistic", reg=0.1, symmetrize=False),
    "PageRank": gl.GCN(gl.PageRank(0.411), symmetrize=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--degree", type=float, default=30.0)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())

    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    worst = 0.0
    print(f"{'network':24}{'predicted':>10}{'measured':>10}{'error':>8}{'apart':>7}")
    for name, gcn in NETWORKS.items():
        predicted, measured = gl.predict(data, gcn), gl.simulate(data, gcn, **given)
        error = measured.standard_error.test_accuracy
        ratio = (
            (measured.test_accuracy - predicted.test_accuracy) / error if error > 0 else math.inf
        )
        apart = math.copysign(norm.isf(student.sf(abs(ratio), given["trials"] - 1)), ratio)
        worst = max(worst, abs(apart))
        print(
            f"{name:24}{predicted.test_accuracy:10.4f}{measured.test_accuracy:10.4f}{error:8.4f}{apart:+7.1f}"
        )
    verdict = "agree" if worst < 4 else "disagree: the graphs are too small, or too sparse"
    print(f"Conclusion: theory and simulation {verdict}; the largest distance is {worst:.1f}.")


if __name__ == "__main__":
    main()
