"""How do I train on a million nodes?

Features are drawn in tiles and never held, on a GPU if there is one (PyTorch: `pip install '.[gpu]'`), where
`--nodes 1000000` takes seconds.

    python examples/on_a_gpu.py --nodes 20000
"""

import argparse
import importlib.util

import gcnlimit as gl

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--nodes", type=int, default=20_000)
nodes = parser.parse_args().nodes

device = "cpu"
if importlib.util.find_spec("torch"):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"

data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.5))
measured = gl.simulate(data, gcn, nodes=nodes, degree=30, trials=1, seed=0, device=device, streamed=True)
exact = gl.predict(data, gcn).test_accuracy
print(f"predicted  {exact:.4f}")
print(f"one graph  {measured.test_accuracy:.4f}")
print(f"Conclusion: {abs(measured.test_accuracy - exact):.4f} apart.")
