"""What is left to gain, over a map of graph and feature signals?

Each entry is the distance, in points of accuracy, between the best diffusion and the best possible: large where a cleverer
algorithm pays, small where only better data help.

    python examples/left_to_gain.py --alpha 4 --rho 0.1
"""

import argparse

import numpy as np

import gcnlimit as gl


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--alpha", type=float, default=4.0)
    parser.add_argument("--rho", type=float, default=0.1)
    parser.add_argument("--points", type=int, default=7, help="points of the map in each direction")
    given = parser.parse_args()

    lam, mu = np.linspace(0.0, 2.0, given.points), np.linspace(0.0, 4.0, given.points)
    data = gl.CSBM(alpha=given.alpha, lam=lam[:, None], mu=mu, rho=given.rho)
    found = gl.gap_map(data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (0, 20)})
    points = 100 * found.gap

    print("points of accuracy left to gain; rows lam, columns mu")
    print("  lam\\mu" + "".join(f"{m:7.2f}" for m in mu))
    for strength, row in zip(lam, points, strict=True):
        print(f"{strength:8.2f}" + "".join(f"{value:7.2f}" for value in row))
    i, j = np.unravel_index(np.argmax(points), points.shape)
    print(
        f"Conclusion: most is left at lam = {lam[i]:.2f}, mu = {mu[j]:.2f}: {points[i, j]:.1f} points, "
        f"where the snr is {np.broadcast_to(data.snr, points.shape)[i, j]:.2f}."
    )


if __name__ == "__main__":
    main()
