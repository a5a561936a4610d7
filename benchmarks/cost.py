"""What a prediction costs against depth and batch, and a simulation against the number of nodes, with fitted exponents.

``python -m benchmarks cost`` measures, fits, and draws docs/images/cost.png and docs/images/simulation-scaling.png.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import gcnlimit as gl
from benchmarks.measure import curve, peak, seconds, timed

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
GRAPHS = {"directed, by the chain": False, "symmetrized, by the spectrum": True}


class Sizes(NamedTuple):
    """What is measured: depths, batches, and trials for each number of nodes."""

    depths: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    batches: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    trials: tuple[tuple[int, int], ...] = (
        (1_000, 64),
        (3_000, 40),
        (10_000, 16),
        (30_000, 5),
        (100_000, 3),
    )
    repeat: int = 3


QUICK = Sizes(
    depths=(2, 4, 8), batches=(1, 4, 16), trials=((300, 4), (600, 4), (1_200, 4)), repeat=1
)


def curves(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Every curve, in the order of the table."""
    for graph, symmetrize in GRAPHS.items():
        yield depth_curve(graph, symmetrize, sizes)
    for graph, symmetrize in GRAPHS.items():
        yield batch_curve(graph, symmetrize, sizes)
    yield from simulation_curves(sizes)


def depth_curve(graph: str, symmetrize: bool, sizes: Sizes, points: int = 32) -> dict[str, Any]:
    """Seconds per point of a batch; c grows with the depth, and the regularization with the gain."""
    data = gl.CSBM(alpha=4, lam=np.linspace(0.6, 1.4, points), mu=2.0, rho=0.1)
    values = []
    for K in sizes.depths:
        network = gl.GCN(
            gl.Residual.constant(K / 1.5, K), reg=float((K / 1.5) ** (2 * K)), symmetrize=symmetrize
        )
        values.append(
            seconds(lambda network=network: gl.predict(data, network), sizes.repeat) / points
        )
    return curve(
        f"prediction at finite reg, {graph}", "depth", sizes.depths, values, unit="s", last=3
    )


def batch_curve(graph: str, symmetrize: bool, sizes: Sizes) -> dict[str, Any]:
    """Seconds of a batch of networks of three layers, regularizations from 0.1 to 100."""
    rng = np.random.default_rng(0)
    values = []
    for size in sizes.batches:
        c, reg = rng.uniform(0, 2, (size, 3)), 10 ** rng.uniform(-1, 2, size)
        network = gl.GCN(gl.Residual(c), reg=reg, symmetrize=symmetrize)
        values.append(seconds(lambda network=network: gl.predict(DATA, network), sizes.repeat))
    return curve(
        f"batch of three layers, {graph}", "points", sizes.batches, values, unit="s", last=3
    )


def simulation_curves(sizes: Sizes) -> list[dict[str, Any]]:
    """Time and memory of a streamed graph, in single precision, and the scatter of its accuracy."""
    gcn = gl.GCN(gl.Diffusion(1.488), symmetrize=True)

    def simulate(nodes: int, trials: int) -> gl.results.Measurement:
        return gl.simulate(
            DATA, gcn, nodes, 30, trials, seed=0, workers=1, streamed=True, dtype=np.float32
        )

    nodes, times, memory, scatter, unsure = [], [], [], [], []
    for n, trials in sizes.trials:
        spent, measured = timed(lambda n=n, trials=trials: simulate(n, trials))
        nodes.append(n)
        times.append(spent / trials)
        memory.append(peak(lambda n=n: simulate(n, 1)))
        scatter.append(measured.standard_error.test_accuracy * trials**0.5)
        unsure.append((2 * (trials - 1)) ** -0.5)
    return [
        curve("simulated graph, time", "nodes", nodes, times, unit="s", last=3),
        curve("simulated graph, memory", "nodes", nodes, memory, unit="MiB", last=3),
        curve(
            "scatter of the accuracy",
            "nodes",
            nodes,
            scatter,
            unit="",
            last=len(nodes),
            relative=unsure,
        ),
    ]
