"""The numbers of the last section of docs/finding-best-filter.md: where infinite regularization is not the best choice."""

from __future__ import annotations

import math

import gcnlimit as gl


def main() -> None:
    """Print the best regularization of small networks, for two losses, in Markdown."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    print("| graph | layers | loss | best reg | accuracy there | accuracy at reg = inf |")
    print("| --- | --- | --- | --- | --- | --- |")
    for symmetrize in (True, False):
        for depth in (1, 2):
            gcn = gl.GCN(gl.Residual.constant(1.0, depth), symmetrize=symmetrize)
            infinite = gl.predict(data, gcn).test_accuracy
            for loss, best in gl.tune_losses(data, gcn, {"reg": (0.1, math.inf)}, ("square", "logistic")).items():
                graph, reg = "symmetrized" if symmetrize else "directed", best.parameters["reg"]
                print(
                    f"| {graph} | {depth} | {loss} | {reg:.4g} | {best.prediction.test_accuracy:.6f} | {infinite:.6f} |"
                )


if __name__ == "__main__":
    main()
