"""Time, memory and standard error of the simulation against the number of nodes, on one plot.

``python -m benchmarks.scaling PICTURE.png`` measures each size in a process of its own and draws.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

SIZES = [1_000, 3_000, 10_000, 30_000, 100_000]
TRIALS = {1_000: 16, 3_000: 16, 10_000: 10, 30_000: 5, 100_000: 2}

PROGRAM = """
import json, resource, sys, time
import numpy as np, gcnlimit as gl
nodes, trials = int(sys.argv[1]), int(sys.argv[2])
data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.488), symmetrize=True)
start = time.process_time()
s = gl.simulate(data, gcn, nodes, 30, trials, seed=0, workers=1, streamed=True, dtype=np.float32)
seconds = (time.process_time() - start) / trials
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
exact = gl.predict(data, gcn).test_accuracy
print(json.dumps({"nodes": nodes, "trials": trials, "seconds": seconds, "mib": memory, "accuracy": s.test_accuracy,
                  "scatter": s.standard_error.test_accuracy * trials**0.5, "exact": exact}))
"""


def measure() -> list[dict[str, Any]]:
    runs = []
    for nodes in SIZES:
        command = [sys.executable, "-c", PROGRAM, str(nodes), str(TRIALS[nodes])]
        runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        print(runs[-1], flush=True)
    return runs


def draw(runs: list[dict[str, Any]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    n = np.array([r["nodes"] for r in runs], float)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    panels = [("seconds", "processor seconds for one graph", 2.0), ("mib", "peak memory of the process, MiB", None)]
    for ax, (name, label, power) in zip(axes, panels, strict=False):
        values = np.array([r[name] for r in runs])
        ax.loglog(n, values, "o-", color="C0")
        if power:
            ax.loglog(n, values[-1] * (n / n[-1]) ** power, "--", color="0.6", label=r"$\propto N^2$: the features")
            ax.legend(frameon=False)
        ax.set(xlabel="nodes $N$", ylabel=label)
    axes[1].axhline(2048, color="0.6", ls=":")
    axes[1].text(n[0], 2048 * 0.93, "2 GiB", color="0.4", va="top")
    axes[1].set_ylim(50, 3000)
    scatter = np.array([r["scatter"] for r in runs])
    spread = scatter / np.sqrt(2 * (np.array([r["trials"] for r in runs]) - 1))
    axes[2].errorbar(n, scatter, spread, fmt="o", color="C0", capsize=3, label="measured")
    axes[2].plot(n, scatter[1] * np.sqrt(n[1] / n), "--", color="0.6", label=r"$\propto 1/\sqrt{N}$")
    axes[2].set(xscale="log", yscale="log", xlabel="nodes $N$", ylabel="scatter of the accuracy between graphs")
    axes[2].legend(frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw(measure(), sys.argv[1])
