"""How do I train on a million nodes?

Features are drawn block by block and never stored. On a GPU (PyTorch: `pip install '.[gpu]'`) a million nodes take seconds.

    python examples/on_a_gpu.py --nodes 20000
    python examples/on_a_gpu.py --nodes 1000000 --device cuda
"""

import argparse

import gcnlimit as gl

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--nodes", type=int, default=20_000)
parser.add_argument("--device", default="cpu")
options = parser.parse_args()

data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.5))
measured = gl.simulate(
    data,
    gcn,
    nodes=options.nodes,
    degree=30,
    trials=1,
    seed=0,
    device=options.device,
    streamed=True,
)
exact = gl.predict(data, gcn).test_accuracy
print(f"predicted  {exact:.4f}")
print(f"one graph  {measured.test_accuracy:.4f}")
print(f"Conclusion: {abs(measured.test_accuracy - exact):.4f} apart.")
