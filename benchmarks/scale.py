"""A hundred thousand nodes on the processor: streamed features in one pass of columns, against two passes of rows.

``python -m benchmarks.scale [NODES]`` prints the table. Times are those of the clock on the wall, whole processes one after the
other; the peer is how the library did it before: rows in tiles, drawn twice, in one thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, NamedTuple

from benchmarks.measure import row
from gcnlimit._runtime.threads import threads

NODES = 100_000

SETUP = """
import math, resource, sys, time
import numpy as np, gcnlimit as gl
from gcnlimit.simulation.backend import backend_of

nodes = int(sys.argv[1])
gcn, fit = gl.GCN(gl.Diffusion([1.0]), symmetrize=True), gl.fit  # imported by all

def sample():
    return gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes, degree=30, seed=0, streamed=True, dtype=np.float32)

def done(start, accuracy):
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, accuracy)
"""

OURS = """
start = time.perf_counter()
done(start, float(fit(sample(), gcn).performance.test_accuracy[0]))
"""

ROWS = """
def tiles(X):
    for tile in range(-(-nodes // 64)):
        rows = slice(64 * tile, min(64 * tile + 64, nodes))
        rng = np.random.Generator(np.random.Philox(key=[1, tile]))
        noise = rng.standard_normal((rows.stop - rows.start, X.shape[1]), dtype=np.float32)
        noise += X.codes[rows].astype(np.float32) * X.spike[:, 0]
        yield rows, noise

start = time.perf_counter()
i = sample()
a, X, g = i.observation.operator(True), i.features, gcn.filter
propagated = g.apply(a, i.observation.train_labels.astype(np.float32), radius=a.radius).T
w = np.zeros((X.shape[1], 1), np.float32)
for rows, tile in tiles(X):
    w += tile.T @ propagated[rows]
signal = np.empty((nodes, 1), np.float32)
for rows, tile in tiles(X):
    signal[rows] = tile @ w
outputs = g.apply_each(a, signal / nodes, radius=a.radius)[:, 0]
done(start, float(np.mean((outputs * i.labels)[~i.train_mask] > 0)))
"""

DRAWS = """
from gcnlimit._runtime.threads import ordered_map
backend, width = backend_of("cpu"), nodes // 4
start = time.perf_counter()
shape = backend.tile, nodes
draw = lambda tile: backend.normals(1, tile, shape, np.dtype(np.float32))
for _ in ordered_map(draw, range(width // backend.tile), nodes * width):
    pass
done(start, math.nan)
"""


def rows(nodes: int = NODES) -> list[dict[str, Any]]:
    ours, peer, draws = (_run(program, nodes) for program in (OURS, ROWS, DRAWS))
    what = f"{nodes} nodes, alpha = 4, reg = inf, {threads()} threads"
    note = (
        f"accuracies {ours.accuracy:.4f} and {peer.accuracy:.4f}; peer's memory {peer.mib:.0f} MiB; "
        f"processor {ours.processor:.3g} s and {peer.processor:.3g} s; load {os.getloadavg()[0]:.1f}; target: 3"
    )
    limit = "the same normals drawn once, nothing else"
    return [
        row(
            what,
            ours.seconds,
            "two passes of rows, one thread",
            peer.seconds,
            peak_mib=ours.mib,
            note=note,
        ),
        row(
            what,
            ours.seconds,
            limit,
            draws.seconds,
            note=f"{draws.seconds / ours.seconds:.0%} of the limit",
        ),
    ]


class _Run(NamedTuple):
    """Time on the wall and of the processor, peak memory, accuracy."""

    seconds: float
    processor: float
    mib: float
    accuracy: float


def _run(program: str, nodes: int) -> _Run:
    arguments = [sys.executable, "-c", SETUP + program, str(nodes)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return _Run(*map(float, done.stdout.split()))


if __name__ == "__main__":
    for r in rows(*map(int, sys.argv[1:])):
        beside = f"{r['peer']}: {r['peer_s']:.2f} s; ratio {r['ratio']:.2f}; {r.get('peak_mib', 0.0):.0f} MiB"
        print(f"{r['what']}: {r['ours_s']:.2f} s; {beside}; {r['note']}")
