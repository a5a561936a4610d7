"""All linear networks, from their equations alone: plain iterations of one point each, and a simulation with Gaussian matrices.

`python -m validation.linear_networks` computes the rows of linear.json anew and prints the largest difference of each kind;
`--simulate` also runs the network of Eq. 12.3 on dense Gaussian matrices of 3000 nodes, and prints its accuracy by layer beside
Eq. 12.2. It needs NumPy and SciPy only, and nothing of the library.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

HERE = Path(__file__).parent


def limit(step, start=0.0):
    """Fixed point that an increasing map reaches from below, by bisection on step(M) - M from above the last one found."""
    low, high = start, 1.0
    while step(high) > high:
        low, high = high, 2.0 * high
    low = low if step(low) > low else start
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if step(middle) > middle else (low, middle)
    return 0.5 * (low + high)


def overlap(M, rho, e=math.inf):
    labelled = 1.0 if math.isinf(e) else (e + M) / (1 + e + M)
    return rho * labelled + (1 - rho) * M / (1 + M)


def evidence(Q, alpha, lam, mu, *, levels=((1.0, 1.0),), known=0.0):
    parts = sum(
        w * mu * g * (known * g + mu * g * Q) / (1 + known * g + mu * g * Q) for g, w in levels
    )
    return lam**2 * Q + parts / alpha


def margin(alpha, lam, mu, rho, *, levels=((1.0, 1.0),), e=math.inf, known=0.0):
    """Squared margin M of the best linear network."""
    return limit(
        lambda M: evidence(overlap(M, rho, e), alpha, lam, mu, levels=levels, known=known), 1e-18
    )


def layers(alpha, lam, mu, rho, depth):
    M = [0.0]
    for _ in range(depth):
        M.append(evidence(overlap(M[-1], rho), alpha, lam, mu))
    return np.array(M[1:])


def cross_entropy(M):
    def integrand(z):
        return norm.pdf(z) * np.logaddexp(0.0, -2 * (M + math.sqrt(M) * z))

    return quad(integrand, -12, 12, epsabs=1e-13, epsrel=1e-13, limit=400)[0]


def accuracy(M, classes=2):
    """Probability that the score of the true class is the largest of `classes` equal ones."""
    if classes == 2:
        return norm.cdf(math.sqrt(M))
    lead = math.sqrt(classes * M)
    return quad(
        lambda z: norm.pdf(z - lead) * norm.cdf(z) ** (classes - 1),
        lead - 12,
        lead + 12,
        epsabs=1e-13,
        limit=400,
    )[0]


def hubs(point, theta, weight):
    alpha, lam, mu, rho = point
    theta, weight = np.array(theta), np.array(weight)
    Qs = q = 1.0
    for _ in range(20_000):
        M = mu / alpha * mu * q / (1 + mu * q) + lam**2 * theta * Qs
        each = (rho + M) / (1 + M)
        Qs, q = weight @ (theta * each), weight @ each
    return M, q, weight @ norm.cdf(np.sqrt(M))


def pair(given):
    alpha, lam, mu, rho = (given[k] for k in ("alpha", "lam_e", "mu", "rho"))
    there = given["lam_e_new"], given["mu_new"], given["rho_new"], given["ratio"]
    lam2, mu2, rho2, ratio = there

    def new(known):  # known: mu Q of the training graph
        def step(M):
            A = known + ratio * mu2 * overlap(M, rho2)
            return mu2 / alpha * A / (1 + A) + lam2**2 * overlap(M, rho2)

        return limit(step, 1e-18)

    alone = overlap(margin(alpha, lam, mu, rho), rho)
    frozen = mu2 / alpha * mu * alone / (1 + mu * alone)
    joint = alone
    for _ in range(3000):
        Q2 = overlap(new(mu * joint), rho2)
        joint = overlap(margin(alpha, lam, mu, rho, known=ratio * mu2 * Q2), rho)
    M_frozen = limit(lambda M: frozen + lam2**2 * overlap(M, rho2), 1e-18)
    return new(mu * joint), new(mu * alone), M_frozen


def two_numbers(point, theta_a, theta_x):
    """Squared margin of the clamped system, by iterating the response of a node from 1 upward."""
    alpha, lam, mu, rho = point
    s = 1.0
    for _ in range(20_000):
        h = theta_x / (1 - theta_x * (1 - rho) * s)
        s = 1 / (1 - theta_a**2 * (1 - rho) * s - h / alpha)
    k, g2, w = theta_a * lam + h * mu / alpha, theta_a**2 + h**2 / alpha, h**2 * mu / alpha
    mean = rho / (1 - (1 - rho) * s * k)
    size = (rho + (1 - rho) * s**2 * (k**2 + w) * mean**2) / (1 - (1 - rho) * s**2 * g2)
    return (k * mean) ** 2 / (g2 * size + w * mean**2)


def answers(row):  # noqa: PLR0911
    """Numbers of a row of linear.json by name, computed here."""
    kind, g = row["kind"], row["given"]
    base = g["alpha"], g.get("lam_e", g.get("lam")), g["mu"], g.get("rho", 0.0)
    if kind == "binary":
        M = margin(*base)
        return {
            "M": M,
            "accuracy": accuracy(M),
            "cross_entropy": cross_entropy(M),
            "overlap": overlap(M, base[3]),
        }
    if kind == "layers":
        return {"M": layers(*base, 10)[[0, 1, 2, 4, 9]]}
    if kind == "classes":
        return {"M": margin(*base), "accuracy": accuracy(margin(*base), g["classes"])}
    if kind == "coloured":
        gain = np.array(g["signal"]) / np.array(g["variance"])
        return {"M": margin(*base, levels=list(zip(gain, g["weight"], strict=True)))}
    if kind == "degrees":
        return dict(zip(("M", "q", "accuracy"), hubs(base, g["theta"], g["weight"]), strict=True))
    if kind == "pair":
        return dict(zip(("M_joint_new", "M_two_stages", "M_frozen"), pair(g), strict=True))
    if kind == "flips":
        f = g["flips"]
        return {"M": margin(*base, e=(1 - 2 * f) ** 2 / (4 * f * (1 - f)))}
    if kind == "two numbers":
        return {"margin2": two_numbers(base, g["theta_a"], g["theta_x"])}
    if kind == "directed":
        alpha, lam, mu, rho = base
        return {"M_one_way": margin(*base), "M_both": margin(alpha, math.sqrt(2) * lam, mu, rho)}
    return {"M": margin(*base)}


def simulated(point, depth, nodes, rng):
    """Accuracy after each layer of the network on one draw of Gaussian matrices."""
    alpha, lam, mu, rho = point
    features = round(nodes / alpha)
    y = rng.choice([-1.0, 1.0], nodes)
    R = rng.random(nodes) < rho
    noise = rng.standard_normal((nodes, nodes))
    a = lam / nodes * np.outer(y, y) + (noise + noise.T) / math.sqrt(2 * nodes)
    X = math.sqrt(mu / nodes) * np.outer(y, rng.standard_normal(features)) + rng.standard_normal(
        (nodes, features)
    )
    v, v_old, u = np.where(R, y, 0.0), np.zeros(nodes), np.zeros(features)
    s, Q, found = 0.0, rho, []
    for M in layers(alpha, lam, mu, rho, depth):
        u = (math.sqrt(mu / nodes) * X.T @ v - mu * (1 - rho) * s * u) / (1 + mu * Q)
        B = lam * a @ v - lam**2 * (1 - rho) * s * v_old
        B += math.sqrt(mu / nodes) * X @ u - mu / alpha * v / (1 + mu * Q)
        found.append(np.mean(B[~R] * y[~R] > 0))
        s, Q = 1 / (1 + M), overlap(M, rho)
        v, v_old = np.where(R, y, s * B), v
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--graphs", type=int, default=6)
    args = parser.parse_args()
    worst: dict[str, float] = {}
    for row in json.loads((HERE / "linear.json").read_text())["rows"]:
        for name, value in answers(row).items():
            error = float(np.max(np.abs(np.subtract(value, row["answer"][name]))))
            worst[f"{row['kind']}: {name}"] = max(error, worst.get(f"{row['kind']}: {name}", 0.0))
    for name, error in worst.items():
        print(f"{name:<28}{error:.1e}")
    if args.simulate:
        for point in ((4, math.sqrt(2), 2, 0.1), (1, 0.849, 4, 0.02), (3, -0.9, 2, 0.05)):
            rng = np.random.default_rng(0)
            runs = np.array([simulated(point, 6, 3000, rng) for _ in range(args.graphs)])
            error = runs.std(axis=0, ddof=1) / math.sqrt(args.graphs)
            print(point, "theory", norm.cdf(np.sqrt(layers(*point, 6))).round(4))
            print("  simulation", runs.mean(axis=0).round(4), "+-", error.round(4))


if __name__ == "__main__":
    main()
