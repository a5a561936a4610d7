"""First correction of the free entropy at finite degree (Eq. 9.8), beside population dynamics.

Run ``python docs/scripts/degree_law.py`` (about three minutes on one core). Two classes have no odd orders. Of three classes
half of the difference between both signs of the signal is taken, which has no even orders.
"""

import math

import numpy as np

import gcnlimit as gl

SEEDS = range(4)


def main() -> None:
    """Print both sides of the law."""
    two = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    three, opposite = (gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1, classes=3) for lam in (1.0, -1.0))
    print("| classes | degree | population dynamics | law |\n| --- | --- | --- | --- |")
    show(two, 10, free_entropies(two, 10) - gl.bayes_optimal(two).free_entropy)
    show(three, 30, (free_entropies(three, 30) - free_entropies(opposite, 30)) / 2)


def show(data: gl.CSBM, degree: float, found: np.ndarray) -> None:
    """Print a row of the table."""
    error = found.std(ddof=1) / math.sqrt(len(found))
    print(
        f"| {data.classes} | {degree} | {found.mean():+.4f} ± {error:.4f} | {law(data, degree):+.4f} |"
    )


def free_entropies(data: gl.CSBM, degree: float) -> np.ndarray:
    """Free entropies of independent populations."""
    return np.array(
        [gl.bayes_optimal(data, degree=degree, population=2000, seed=s).free_entropy for s in SEEDS]
    )


def law(data: gl.CSBM, degree: float, draws: int = 400_000) -> float:
    """Leading term of Eq. 9.8 for equal classes: n = 4 for two classes, n = 3 for more."""
    n = 4 if data.classes == 2 else 3
    codes = _codes(len(data.fractions))
    square = np.mean((codes @ codes.T) ** n)  # squared length of the tensor of known labels
    share = np.mean((_posterior_means(data, codes, draws) @ codes.T) ** n) / square
    overlap = square * (data.rho + (1 - data.rho) * share) ** 2
    observations = 2 if data.directed else 1
    if n == 4:
        return float(observations * data.lam**4 / (24 * degree) * overlap)
    return float(-observations * data.lam**3 / (12 * math.sqrt(degree)) * overlap)


def _codes(classes: int) -> np.ndarray:
    """Codes of equal classes, one in each row."""
    basis, _ = np.linalg.qr(np.column_stack([np.ones(classes), np.eye(classes)[:, 1:]]))
    return basis[:, 1:] * math.sqrt(classes)


def _posterior_means(data: gl.CSBM, codes: np.ndarray, draws: int) -> np.ndarray:
    """Draws of the posterior mean of a code at the evidence of large degree."""
    rng = np.random.default_rng(0)
    evidence = gl.bayes_optimal(data).order_parameters.test_margin ** 2
    noise = math.sqrt(evidence) * rng.standard_normal((draws, codes.shape[1]))
    field = evidence * codes[rng.integers(len(codes), size=draws)] + noise
    weights = np.exp(field @ codes.T)
    return np.asarray((weights @ codes) / weights.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main()
