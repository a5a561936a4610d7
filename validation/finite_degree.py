"""How far accuracies at finite degree are from the theory of large degree.

Networks, message passing and belief propagation are measured on sampled graphs of several mean degrees d, and the deviations from
the prediction are fitted by a + s x, with x = 1/d for two equal classes and x = 1/sqrt(d) for more; a should vanish as 1/nodes.

    python -m validation.finite_degree --out results                   # measure on this machine, minutes
    python -m validation.finite_degree --device cuda --nodes 100000    # the networks on a graphics card
    python -m validation.finite_degree --fit results --figure law.png  # the table of slopes of what was measured, and a picture

Each measurement is written as one line of JSON when it is done.
"""

from __future__ import annotations

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

import gcnlimit as gl

POINT = {"alpha": 4, "lam": 1.0, "mu": 2.0, "rho": 0.1}
WAYS = {"message passing": gl.amp, "belief propagation": gl.belief_propagation}


def networks(data: gl.CSBM, symmetrize: bool) -> dict[str, gl.GCN]:
    """Return the networks of the paper at infinite regularization, the continuous ones at their best time and restart."""
    two = gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=symmetrize)
    diffusion = gl.tune(data, gl.GCN(gl.Diffusion(1.0), symmetrize=symmetrize), {"t": (0, 10)}).gcn
    pagerank = gl.tune(data, gl.GCN(gl.PageRank(0.5), symmetrize=symmetrize), {"theta": (0, 0.7)}).gcn
    return {"two layers, c = 1": two, "diffusion": diffusion, "PageRank": pagerank}


def measure_networks(classes: int, degree: float, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Deviation of each network, on graphs of one degree."""
    data, rows = gl.CSBM(**POINT, classes=classes), []
    seed, options = seeds(classes, degree, args), {"device": args.device, "workers": args.workers}
    for symmetrize in (True, False):
        for name, gcn in networks(data, symmetrize).items():
            found = gl.simulate(data, gcn, args.nodes, degree, args.trials, seed, streamed=True, **options)
            deviation = found.test_accuracy - gl.predict(data, gcn).test_accuracy
            key = (f"{name}, {'symmetrized' if symmetrize else 'directed'}", classes, degree)
            rows.append(row(key, deviation, found.standard_error.test_accuracy, (args.nodes, args.trials)))
    return rows


def measure_inference(classes: int, degree: float, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Deviation of message passing and of belief propagation, on the same graphs of one degree."""
    data, size = gl.CSBM(**POINT, classes=classes), (args.inference_nodes, args.inference_trials)
    draw = partial(infer, data, size[0], degree)
    with ProcessPoolExecutor(args.workers) as pool:
        found = np.array(list(pool.map(draw, seeds(classes, degree, args).spawn(size[1]))))
    deviations = found - gl.bayes_optimal(data).test_accuracy
    errors = deviations.std(axis=0, ddof=1) / math.sqrt(size[1])
    columns = zip(WAYS, deviations.mean(axis=0), errors, strict=True)
    return [row((name, classes, degree), mean, error, size) for name, mean, error in columns]


def infer(data: gl.CSBM, nodes: int, degree: float, seed: np.random.SeedSequence) -> list[float]:
    """Test accuracies of both algorithms on one graph."""
    instance = gl.sample(data, nodes, degree, seed, dtype=np.float32)
    return [float(way(instance, tol=1e-3).performance.test_accuracy) for way in WAYS.values()]


def measure_ceiling(classes: int, degree: float, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Deviation of the ceiling, by population dynamics."""
    data = gl.CSBM(**POINT, classes=classes)
    found = gl.bayes_optimal(data, degree=degree, population=args.population, sweeps=60)
    deviation = found.test_accuracy - gl.bayes_optimal(data).test_accuracy
    error = found.standard_error.test_accuracy
    return [row(("Bayes-optimal", classes, degree), deviation, error, (args.population, 16))]


def seeds(classes: int, degree: float, args: argparse.Namespace) -> np.random.SeedSequence:
    """Seed of the graphs of one degree, so that measurements at different degrees are independent."""
    return np.random.SeedSequence([args.seed, classes, round(1000 * degree)])


MEASURES = {"networks": measure_networks, "inference": measure_inference, "ceiling": measure_ceiling}


def row(key: tuple[str, int, float], deviation: float, error: float, size: tuple[int, int]) -> dict[str, Any]:
    """One measurement: method, classes and degree, deviation and its error, nodes and trials."""
    names = ("method", "classes", "degree", "deviation", "error", "nodes", "trials")
    return dict(zip(names, (*key, float(deviation), float(error), *size), strict=True))


def fit(classes: int, degree: np.ndarray, deviation: np.ndarray, error: np.ndarray) -> dict[str, float]:
    """Weighted least squares of the deviation: intercept and slope with errors, and chi-squared per degree of freedom."""
    x = 1.0 / degree if classes == 2 else degree**-0.5
    design = np.stack([np.ones_like(x), x], axis=1) / error[:, None]
    covariance = np.linalg.inv(design.T @ design)
    intercept, slope = covariance @ design.T @ (deviation / error)
    left = (deviation - intercept - slope * x) / error
    return {
        "slope": float(slope),
        "slope_error": math.sqrt(covariance[1, 1]),
        "intercept": float(intercept),
        "intercept_error": math.sqrt(covariance[0, 0]),
        "chi2": float(left @ left) / max(1, degree.size - 2),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Table of the slopes, in Markdown."""
    lines = ["| classes | method | slope | intercept | chi2/dof | in |", "| --- | --- | --- | --- | --- | --- |"]
    by_method = sorted(rows, key=lambda r: (r["classes"], r["method"]))
    for (classes, method), group in groupby(by_method, key=lambda r: (r["classes"], r["method"])):
        columns = list(group)
        arrays = (np.array([r[name] for r in columns]) for name in ("degree", "deviation", "error"))
        f = fit(classes, *arrays)
        slope = f"{f['slope']:+.4f} ± {f['slope_error']:.4f}"
        intercept = f"{f['intercept']:+.5f} ± {f['intercept_error']:.5f}"
        unit = "1/d" if classes == 2 else "1/√d"
        lines.append(f"| {classes} | {method} | {slope} | {intercept} | {f['chi2']:.1f} | {unit} |")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Deviations against the power of the degree by which they fall, one panel for each number of classes."""
    from matplotlib.figure import Figure

    numbers = sorted({r["classes"] for r in rows})
    figure = Figure(figsize=(4.2 * len(numbers), 4.6), layout="constrained")
    for axes, classes in zip(np.atleast_1d(figure.subplots(1, len(numbers))), numbers, strict=True):
        methods = sorted({r["method"] for r in rows if r["classes"] == classes})
        for k, method in enumerate(methods):
            found = sorted(
                (r for r in rows if (r["classes"], r["method"]) == (classes, method)), key=lambda r: r["degree"]
            )
            x = np.array([r["degree"] for r in found]) ** (-1.0 if classes == 2 else -0.5)
            values, errors = ([100 * r[name] for r in found] for name in ("deviation", "error"))
            axes.errorbar(x, values, errors, marker="os^Dv<>ph"[k % 9], ms=4, lw=1, capsize=2, label=method)
        axes.axhline(0.0, color="black", lw=0.6)
        axes.set(
            title=f"{classes} classes",
            xlabel="$1/d$" if classes == 2 else r"$1/\sqrt{d}$",
            ylabel="accuracy less prediction (%)",
        )
        axes.set_xlim(left=0.0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, write and fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000, help="of the graphs of the networks")
    parser.add_argument("--inference-nodes", type=int, default=5000, help="of the graphs of message passing")
    parser.add_argument("--population", type=int, default=5000, help="of the population dynamics")
    parser.add_argument("--degrees", type=float, nargs="+", default=[3, 5, 10, 20, 50])
    parser.add_argument("--classes", type=int, nargs="+", default=[2])
    parser.add_argument("--methods", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--trials", type=int, default=10, help="graphs of the networks")
    parser.add_argument("--inference-trials", type=int, default=10, help="graphs of message passing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=None, help="folder of the measurements")
    parser.add_argument("--fit", type=Path, default=None, help="measure nothing, fit what is in this folder")
    parser.add_argument("--figure", type=Path, default=None, help="file of a picture of the deviations")
    args = parser.parse_args()
    rows = (
        [json.loads(line) for path in args.fit.glob("*.jsonl") for line in path.open()] if args.fit else measure(args)
    )
    print(table(rows))
    if args.figure:
        draw(rows, args.figure)


def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """All the measurements asked for, written one by one."""
    rows = []
    for method, classes, degree in product(args.methods, args.classes, args.degrees):
        new = MEASURES[method](classes, degree, args)
        rows += new
        for each in new:
            print(
                f"{each['classes']} {each['method']:32} {degree:5g} {each['deviation']:+.5f} ± {each['error']:.5f}",
                flush=True,
            )
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            with (args.out / f"{method}.jsonl").open("a") as file:
                file.writelines(json.dumps(each) + "\n" for each in new)
    return rows


if __name__ == "__main__":
    main()
