"""How do I compute a thousand points on many machines, and lose none if one dies?

Dask decides where points are computed: in two processes here, or on a cluster whose address you give.
With `store="points.sqlite"` every finished point is kept on disk.

    python examples/sweep_on_a_cluster.py [tcp://host:8786]
"""

import sys

import numpy as np
from distributed import Client

import gcnlimit as gl

if __name__ == "__main__":  # the workers read this file too
    data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.0), reg=1.0)
    here = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with Client(*sys.argv[1:]) if sys.argv[1:] else Client(**here) as client:
        table = gl.sweep(
            gl.predict,
            data=data,
            gcn=gcn,
            axes={"lam": np.linspace(0.0, 2.0, 21), "t": np.linspace(0.0, 3.0, 31)},
            executor=client.get_executor(),
        )
    best = table.test_accuracy.max("t")
    time = table.t[table.test_accuracy.sel(lam=1.0).argmax("t")].item()
    print(
        f"{table.test_accuracy.size} points; accuracy {best[0].item():.3f} without a graph, {best[-1].item():.3f} with lam = 2"
    )
    print(f"Conclusion: at lam = 1 the best time is {time:.1f}.")
