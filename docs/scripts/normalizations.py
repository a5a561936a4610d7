"""What the regularized normalization gains on random data, and where along the signal of the graph.

Run ``python docs/scripts/normalizations.py`` (about ten minutes of one core). PageRank at infinite regularization has its best
strength under each normalization; the gain is that of the regularized one over the best of the other three.
"""

import numpy as np

import gcnlimit as gl

LAWS = {
    "10 % of hubs, of ten times the degree": gl.Degrees([1] * 9 + [10]),
    "30 % of hubs, of five times the degree": gl.Degrees([0.4] * 7 + [2] * 3),
}
SIGNALS = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.15, 1.3, 1.5, 1.8, 2.2, 2.6])
OTHERS = ("none", "symmetric", "random-walk")


def main(count: int = 20) -> None:
    """Print the table of the page."""
    print(
        "| degrees | signal of the largest gain | largest gain | smallest gain | below -0.01 in |"
    )
    print("| --- | --- | --- | --- | --- |")
    for name, law in LAWS.items():
        gain = 100 * gains(law, count)
        where, largest = (
            np.quantile(values, [0, 0.5, 1])
            for values in (SIGNALS[gain.argmax(axis=1)], gain.max(axis=1))
        )
        shown = "{:.2f} to {:.2f}, median {:.2f}"
        row = [shown.format(low, high, middle) for low, middle, high in (where, largest)]
        worse = np.mean(gain < -0.01)
        print(f"| {name} | {' | '.join(row)} | {gain.min():.2f} | {worse:.0%} |", flush=True)


def gains(law: gl.Degrees, count: int) -> np.ndarray:
    """Accuracy gained over the best of the others: random data in rows, signals in columns."""
    rng = np.random.default_rng(0)
    alpha, mu, rho = rng.uniform([[0.5], [0.2], [0.02]], [[5], [4], [0.6]], (3, count))[..., None]
    data = gl.CSBM(alpha, SIGNALS, mu, rho, directed=False, degrees=law)
    best = {name: _best(data, name) for name in (*OTHERS, "regularized")}
    return np.asarray(best["regularized"] - np.max([best[name] for name in OTHERS], axis=0))


def _best(data: gl.CSBM, normalization: str) -> np.ndarray:
    network = gl.GCN(gl.PageRank(0.1), normalization=normalization)
    return np.asarray(gl.tune(data, network, {"theta": (-1, 1)}).prediction.test_accuracy)


if __name__ == "__main__":
    main()
