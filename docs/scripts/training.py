"""The numbers of docs/findings/how-long-to-train.md and docs/findings/how-sure-to-be.md.

Run ``python docs/scripts/training.py time`` for stopping early against the best ridge and for the number of steps, and
``python docs/scripts/training.py sure`` for the calibration of tuned networks; a few minutes each on one core; a number
after them is that of random data sets.
``python docs/scripts/training.py networks`` has the theory beside the trained networks of docs/findings/popular-networks.md.
``python docs/scripts/training.py seconds`` times a hundred times of one point, and a thousand points.
``python docs/scripts/training.py momentum 4000 60 16`` has by how much the steps of a momentum of 0.99 are stretched on each of
16 graphs of 4000 nodes and degree 60; degree 0 is the Gaussian graph.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
from best_filter import random_data

import gcnlimit as gl
from gcnlimit._values import Array
from gcnlimit.theory.finite_reg.path import SymmetricRidge
from gcnlimit.theory.points import Points
from gcnlimit.theory.training import largest_stable_rate

STEPS = np.unique(np.round(np.geomspace(1, 1000, 50)))


def drawn(count: int) -> tuple[gl.CSBM, Array]:
    """Random data with one axis more, and a strength of the diffusion for each, of the sign of the signal."""
    data = random_data(count)
    strength = np.sign(data.lam) * np.random.default_rng(1).uniform(0.3, 2.0, count)
    columns = (np.asarray(values)[:, None] for values in (data.alpha, data.lam, data.mu, data.rho))
    return gl.CSBM(*columns), strength[:, None]


def best(answer, low: float, high: float, pick, name: str) -> tuple[Array, Array]:
    """Best value of a field for each data set, and the logarithm of where it is reached: a coarse grid and two finer ones."""
    x = np.linspace(low, high, 41)
    for width in (0.2, 0.01, None):
        y = getattr(answer(10.0**x), name)
        place = pick(y, axis=1)[:, None]
        at = np.take_along_axis(np.broadcast_to(x, y.shape), place, axis=1)
        if width is not None:
            x = at + width * np.linspace(-1.0, 1.0, 21)
    return np.take_along_axis(y, place, axis=1)[:, 0], at[:, 0]


def spread(name: str, values: Array, digits: int = 4) -> None:
    """Print smallest, median and largest of a quantity."""
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
    print(f"{name}: from {low:.{digits}f} to {high:.{digits}f}, median {middle:.{digits}f}")


def time(count: int = 200) -> None:
    """Stopping early against the best ridge on random data, and how many steps are needed."""
    data, t = drawn(count)

    def flow(times: Array):
        return gl.predict(
            data, gl.GCN(gl.Diffusion(t), normalize=True, training=gl.GradientFlow(times))
        )

    def ridge(reg: Array):
        return gl.predict(data, gl.GCN(gl.Diffusion(t), reg=reg, normalize=True))

    stopped, when = best(flow, -3.0, 3.0, np.argmax, "test_accuracy")
    regularized, how = best(ridge, -3.0, 3.0, np.argmax, "test_accuracy")
    inside = (np.abs(when) < 2.99) & (np.abs(how) < 2.99)
    gain = 100.0 * (stopped - regularized)
    print(
        f"{count} data sets; the best time and the best reg are inside the interval in {inside.sum()}"
    )
    spread("best stopping minus best ridge, points of accuracy", gain)
    print(f"stopping is better in {np.sum(gain > 1e-6)}, by at most {gain.max():.4f} points")
    spread("time times reg at the best", 10.0 ** (when + how)[inside], 2)
    loss, _ = best(flow, -3.0, 3.0, np.argmin, "test_loss")
    other, _ = best(ridge, -3.0, 3.0, np.argmin, "test_loss")
    spread(
        "square loss of stopping minus that of the best ridge, per cent",
        100.0 * (loss / other - 1.0),
        2,
    )
    print(f"stopping has the smaller square loss in {np.sum(loss < other)}")
    steps(data, t, stopped)


def steps(data: gl.CSBM, t: Array, stopped: Array) -> None:
    """Steps of descent at nearly the largest stable step."""
    rate = 1.9 / largest_eigenvalue(data, t)
    training = gl.GradientDescent(STEPS, rate)
    y = gl.predict(data, gl.GCN(gl.Diffusion(t), normalize=True, training=training)).test_accuracy
    first = np.asarray(gl.predict(data, gl.GCN(gl.Diffusion(t), normalize=True)).test_accuracy)[
        :, 0
    ]
    print(f"one step is the network at reg = inf: to {np.abs(y[:, 0] - first).max():.1e}")
    top = np.maximum(stopped, y.max(axis=1))[:, None]
    for points in (1.0, 0.1):
        needed = STEPS[np.argmax(y >= top - points / 100.0, axis=1)]
        print(
            f"within {points} points of the best: one step in {np.mean(needed == 1):.1%}, all after {needed.max():.0f}"
        )
    spread(f"points lost after {STEPS[-1]:.0f} steps", 100.0 * (top[:, 0] - y[:, -1]), 2)


def largest_eigenvalue(data: gl.CSBM, t: Array) -> Array:
    """Largest eigenvalue of the second derivatives of the objective, in the units of a normalized filter."""
    ridge = SymmetricRidge(
        Points.of(data, gl.GCN(gl.Diffusion(t), normalize=True, training=gl.GradientFlow(1.0))), 255
    )
    return (ridge.ends()[1] * ridge.unit).reshape(t.shape)


def sure(count: int = 150) -> None:
    """Calibration of logistic networks at the regularization of the best accuracy and of the best log loss."""
    data, t = drawn(count)
    reg = np.geomspace(1e-3, 1e3, 31)
    p = gl.predict(data, gl.GCN(gl.Diffusion(t), "logistic", reg, normalize=True), throw=False)
    known = p.calibration
    rows = np.arange(count)
    accurate, scored = np.nanargmax(p.test_accuracy, axis=1), np.nanargmin(known.log_loss, axis=1)
    slope = known.slope[rows, accurate]
    print(f"{count} data sets, logistic loss, {reg.size} regularizations")
    print(f"under-confident at the best accuracy: {np.mean(slope > 1):.1%}")
    spread("slope there", slope, 2)
    spread(
        "expected calibration error there, points", 100 * known.expected_error[rows, accurate], 1
    )
    spread("slope at the best log loss", known.slope[rows, scored], 2)
    decades = np.log10(reg[accurate] / reg[scored])
    spread("decades by which its reg is smaller", decades, 2)
    cost = 100.0 * (p.test_accuracy[rows, accurate] - p.test_accuracy[rows, scored])
    spread("points of accuracy that it costs", cost, 2)
    saved = known.log_loss[rows, scored] - known.calibrated_log_loss[rows, accurate]
    spread("log loss saved by tuning for accuracy and one temperature instead", saved, 4)


def networks() -> None:
    """SGC of four (and, after one step, two) propagations and APPNP by theory, on training nodes; accuracies in per cent."""
    unit = 60**-0.5  # of the normalized operator at degree 60, in that of the theory
    for problem in gl.benchmark.problems():
        if problem.name not in {"reference", "deep", "few-labels", "heterophily", "weak-features"}:
            continue
        data = problem.data.replaced(rho=0.75 * problem.data.rho)
        sgc = gl.GCN(gl.Residual.constant(unit, 4), normalize=True)
        flow = sgc.replaced(
            training=gl.GradientFlow(np.append(np.geomspace(1e-3, 1e4, 141), np.inf)), reg=0.0
        )
        curve = gl.predict(data, flow).test_accuracy
        two = sgc.replaced(filter=gl.Residual.constant(unit, 2))
        numbers = [gl.predict(data, one).test_accuracy for one in (sgc, two)]
        numbers += [curve.max(), curve[-1]]
        for scale in (unit, 1.0):
            numbers.append(max(_pagerank(data, teleport, scale) for teleport in (0.1, 0.3)))
        print(f"{problem.name:14}" + "".join(f"{100 * one:7.1f}" for one in numbers))


def _pagerank(data: gl.CSBM, teleport: float, scale: float) -> float:
    """Accuracy at the best regularization of the filter of APPNP on an operator of that scale."""
    weights = [teleport * (1 - teleport) ** k for k in range(10)] + [(1 - teleport) ** 10]
    filter = gl.Polynomial(np.array(weights) * scale ** np.arange(11))
    network = gl.GCN(filter, reg=1.0, normalize=True)
    return gl.tune(data, network, {"reg": (1e-4, np.inf)}).prediction.test_accuracy


def seconds(count: int = 20) -> None:
    """Processor time of a hundred times over four decades at each of some points, half the stable rate; and of many points."""
    data, t = drawn(max(count, 1000))
    steps, filter = np.round(np.geomspace(1, 1e4, 100)), gl.Diffusion(1.0)
    flow = gl.GCN(filter, normalize=True, reg=0.1, training=gl.GradientFlow(steps / 100.0))
    for momentum in (None, 0.0, 0.5, 0.9, 0.99):
        taken = []
        for k in range(count):
            point = gl.CSBM(*(values[k, 0] for values in (data.alpha, data.lam, data.mu, data.rho)))
            gcn = flow
            if momentum is not None:
                gcn = flow.replaced(training=gl.GradientDescent(1, 1.0, momentum))
                rate = 0.5 * float(largest_stable_rate(Points.of(point, gcn))[0])
                gcn = flow.replaced(training=gl.GradientDescent(steps, rate, momentum))
            gl.predict(point, gcn)
            start = process_time()
            gl.predict(point, gcn)
            taken.append(1e3 * (process_time() - start))
        name = "flow" if momentum is None else f"momentum {momentum:g}"
        spread(f"{name}, milliseconds", np.array(taken), 1)
    start = process_time()
    gl.predict(
        data, gl.GCN(gl.Diffusion(t), normalize=True, reg=0.1, training=gl.GradientFlow(1.0))
    )
    print(f"{t.size} points at one time: {process_time() - start:.1f} s")


def momentum(nodes: int = 4000, degree: int = 60, graphs: int = 16) -> None:
    """Factor of the steps at which the theory is nearest to each sampled graph, and how near its accuracies then are."""
    data, steps = gl.CSBM(alpha=2, lam=0.8, mu=2.0, rho=0.3), np.arange(1, 401)
    descent = gl.GradientDescent(steps, 0.03, 0.99)
    gcn = gl.GCN(gl.Residual([1.0, 0.5]), reg=0.05, training=descent)
    theory, some = gl.predict(data, gcn).test_accuracy, slice(20, 360)
    factors = np.linspace(0.9, 1.1, 401)
    stretched = [np.interp(factor * steps[some], steps, theory) for factor in factors]
    best, left = np.empty((2, graphs))
    for seed in range(graphs):
        graph = gl.sample(data, nodes, degree=degree or None, seed=seed)
        found = gl.fit(graph, gcn).performance.test_accuracy[some]
        apart = np.sqrt(np.mean((found - stretched) ** 2, axis=1))
        best[seed], left[seed] = factors[apart.argmin()], apart.min()
    deviation = best.std(ddof=1)
    print(f"{graphs} graphs of {nodes} nodes and degree {degree or 'infinity'}:")
    print(f"steps are stretched by {best.mean():.4f} +- {deviation / graphs**0.5:.4f}")
    print(
        f"the deviation of a graph is {deviation:.4f}; accuracies then differ by {left.mean():.4f}"
    )


if __name__ == "__main__":
    modes = {f.__name__: f for f in (time, sure, networks, seconds, momentum)}
    modes[sys.argv[1]](*map(int, sys.argv[2:]))
