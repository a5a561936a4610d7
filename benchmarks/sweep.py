"""What a sweep costs beside the bare calculation, and beside the usual cache of single calls."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gcnlimit as gl
from benchmarks.measure import row, seconds

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
TWO_LAYERS = gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=True)


def rows() -> list[dict[str, Any]]:
    gl.sweep(gl.predict, data=DATA, gcn=TWO_LAYERS, axes={"lam": [0.0, 1.0]})  # imports
    with tempfile.TemporaryDirectory() as folder:
        return [*_million(Path(folder)), _joblib(Path(folder)), *_simulation(Path(folder))]


def _million(folder: Path) -> list[dict[str, Any]]:
    lam, mu = np.linspace(0, 2, 1000), np.linspace(0, 3, 1000)
    store = folder / "million.sqlite"
    bare = _wall(lambda: gl.predict(gl.CSBM(4, lam[:, None], mu, 0.1), TWO_LAYERS))
    arguments: dict[str, Any] = {
        "data": DATA,
        "gcn": TWO_LAYERS,
        "axes": {"lam": lam, "mu": mu},
        "store": store,
    }
    first = _wall(lambda: gl.sweep(gl.predict, **arguments))
    size = store.stat().st_size / 1e6
    again = _wall(lambda: gl.sweep(gl.predict, **arguments))
    overhead = f"overhead {first - bare:.2f} µs per point, store {size:.1f} MB"
    return [
        row(
            "sweep of 10^6 theory points, kept on disk",
            first,
            "bare predict on arrays",
            bare,
            overhead,
        ),
        row(
            "resume of 10^6 finished points",
            again,
            "bare predict on arrays",
            bare,
            f"{again:.2f} µs per point",
        ),
    ]


def _joblib(folder: Path) -> dict[str, Any]:
    """Points cached one by one, as scripts do."""
    from joblib import Memory

    cached = Memory(folder / "joblib", verbose=0).cache(_one_point)
    lam = np.linspace(0, 2, 2000)
    axes = {"lam": lam}
    ours = _wall(
        lambda: gl.sweep(
            gl.predict, data=DATA, gcn=TWO_LAYERS, axes=axes, store=folder / "few.sqlite"
        )
    )
    theirs = _wall(lambda: [cached(float(value)) for value in lam])
    return row(
        "sweep of 2000 theory points, kept on disk",
        ours,
        "joblib.Memory, point by point",
        theirs,
        "",
    )


def _one_point(lam: float) -> dict[str, Any]:
    return gl.predict(gl.CSBM(4, lam, 2.0, 0.1), TWO_LAYERS).as_dict()


_SIMULATING: list[float] = []


def _simulation(folder: Path) -> list[dict[str, Any]]:
    """Time of a sweep of simulations beside the time spent inside simulate, in the same run."""
    if importlib.util.find_spec("gcnlimit.simulation") is None:
        return []
    axes = {"lam": np.linspace(0.5, 1.5, 4)}
    ours = _wall(lambda: gl.sweep(_timed, axes=axes, store=folder / "simulation.sqlite", workers=1))
    bare = sum(_SIMULATING)
    note = f"overhead {100 * (ours / bare - 1):.1f} % of a trial of {1e3 * bare / 8:.0f} ms (10 000 nodes)"
    return [row("sweep of 8 simulated trials, kept on disk", ours, "simulate alone", bare, note)]


def _timed(lam: float, seed: int) -> dict[str, Any]:
    start = time.perf_counter()
    data = gl.CSBM(4, lam, 2.0, 0.1)
    measured = gl.simulate(
        data, TWO_LAYERS, nodes=10_000, degree=30, trials=2, seed=seed, workers=1
    )
    _SIMULATING.append(time.perf_counter() - start)
    return measured.as_dict()


def _wall(function: Callable[[], object]) -> float:
    """Time on the wall, since the disk counts."""
    return seconds(function, clock=time.perf_counter)
