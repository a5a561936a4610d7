r"""Theory against simulation for any classes, unequal classes and correlated features, and what the derivations left open.

Each case has exact numbers and measures them on sampled Gaussian-equivalent graphs; z is the difference as a normal deviate.

    python -m validation.simulated_classes --nodes 2000 --trials 16 --workers 16 --out validation/simulated_classes.json

Cases may be chosen by the beginning of their names (``--only grid ceiling``).
"""

from __future__ import annotations

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from gcnlimit.numerics.gaussian import normal_deviate
from validation.ceiling_cases import CASES


def one(task):
    """One trial of one case."""
    case, nodes, seed = task
    return case.measure(nodes, seed)


def summary(case, values):
    """Rows of a case: exact and measured numbers, standard error, and z."""
    rows = []
    for name, exact in case.exact().items():
        each = np.array([value[name] for value in values])
        error = float(each.std(ddof=1) / math.sqrt(each.size))
        quotient = np.array((float(each.mean()) - exact) / error if error > 1e-12 else 0.0)
        z = float(normal_deviate(quotient, each.size - 1))
        rows.append(
            {
                "case": case.name,
                "what": name,
                "exact": exact,
                "measured": float(each.mean()),
                "error": error,
                "z": z,
            }
        )
    return rows


def extrapolation(rows, nodes):
    """Weighted line in 1/N through the sizes, and what it says at infinite size."""
    mine = [row for row in rows if row["case"].startswith("size")]
    if len(mine) < 3:
        return []
    x = np.array([1.0 / (nodes * float(row["case"].split()[1])) for row in mine])
    y, error = (np.array([row[name] for row in mine]) for name in ("measured", "error"))
    design = np.stack([np.ones_like(x), x], axis=1) / error[:, None]
    covariance = np.linalg.inv(design.T @ design)
    level, slope = covariance @ design.T @ (y / error)
    deviation = math.sqrt(covariance[0, 0])
    exact = mine[0]["exact"]
    row = {
        "case": "sizes extrapolated",
        "what": "test_accuracy",
        "exact": exact,
        "measured": float(level),
        "error": deviation,
    }
    return [row | {"z": (float(level) - exact) / deviation, "per_1_over_N": float(slope)}]


def main():
    """Measure the cases asked for, print them, and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cases = [case for case in CASES if case.name.startswith(tuple(given.only))]
    seeds = np.random.SeedSequence(given.seed).spawn(len(cases))
    tasks = [
        (case, given.nodes, s)
        for case, seed in zip(cases, seeds, strict=True)
        for s in seed.spawn(given.trials)
    ]
    with ProcessPoolExecutor(given.workers) as pool:
        found = list(pool.map(one, tasks))
    rows = [
        row
        for k, case in enumerate(cases)
        for row in summary(case, found[k * given.trials : (k + 1) * given.trials])
    ]
    rows += extrapolation(rows, given.nodes)
    for row in rows:
        print(
            f"{row['case']:34} {row['what']:32} {row['exact']:9.5f} {row['measured']:9.5f} {row['error']:8.5f} {row['z']:+6.1f}"
        )
    z = np.array([row["z"] for row in rows if row["z"]])
    print(f"{z.size} numbers, rms z {np.sqrt(np.mean(z**2)):.2f}, largest {np.abs(z).max():.1f}")
    if given.out:
        lines = ",\n".join(json.dumps(row) for row in rows)
        given.out.write_text(
            f'{{"nodes": {given.nodes}, "trials": {given.trials}, "rows": [\n{lines}\n]}}\n'
        )


if __name__ == "__main__":
    main()
