"""A hundred thousand nodes on the processor: streamed features in one pass of columns, against two passes of rows.

``python -m benchmarks.scale [NODES]`` prints the table. Times are those of the clock on the wall, whole processes one after the
other; the peer is how the library did it before: rows in tiles, drawn twice, in one thread.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from benchmarks.measure import row
from gcnlimit._threads import threads

NODES = 100_000

SETUP = """
import math, resource, sys, time
import numpy as np, gcnlimit as gl
from gcnlimit.simulation.backend import backend_of

nodes = int(sys.argv[1])
gcn = gl.GCN(gl.Diffusion([1.0]), symmetrize=True)

def sample():
    return gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes, degree=30, seed=0, streamed=True, dtype=np.float32)

def done(start, accuracy):
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, accuracy)
"""

OURS = """
start = time.perf_counter()
done(start, float(gl.fit(sample(), gcn).performance.test_accuracy[0]))
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
from gcnlimit._threads import in_order
backend, width = backend_of("cpu"), nodes // 4
start = time.perf_counter()
shape = backend.tile, nodes
for _ in in_order(lambda tile: backend.normals(1, tile, shape, np.dtype(np.float32)), range(width // backend.tile)):
    pass
done(start, math.nan)
"""


def rows(nodes: int = NODES) -> list[dict[str, Any]]:
    ours, memory, accuracy = _run(OURS, nodes)
    peer, peer_memory, peer_accuracy = _run(ROWS, nodes)
    draws, _, _ = _run(DRAWS, nodes)
    what = f"{nodes} nodes, alpha = 4, reg = inf, {threads()} threads"
    note = f"accuracies {accuracy:.4f} and {peer_accuracy:.4f}; peer's memory {peer_memory:.0f} MiB; wanted: 3"
    limit = "the same normals drawn once, nothing else"
    return [
        row(what, ours, "two passes of rows, one thread", peer, peak_mib=memory, note=note),
        row(what, ours, limit, draws, note=f"{draws / ours:.0%} of the limit"),
    ]


def _run(program: str, nodes: int) -> tuple[float, float, float]:
    done = subprocess.run(
        [sys.executable, "-c", SETUP + program, str(nodes)], capture_output=True, text=True, check=True
    )
    seconds, memory, accuracy = map(float, done.stdout.split())
    return seconds, memory, accuracy


if __name__ == "__main__":
    for r in rows(*map(int, sys.argv[1:])):
        beside = f"{r['peer']}: {r['peer_s']:.2f} s; ratio {r['ratio']:.2f}; {r.get('peak_mib', 0.0):.0f} MiB"
        print(f"{r['what']}: {r['ours_s']:.2f} s; {beside}; {r['note']}")
