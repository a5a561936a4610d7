"""How should a network divide by the degrees if some nodes have many more neighbours than others?

The relative degrees (degree / mean degree) have the variance 0.5; each normalization is compared at its best PageRank.

    python examples/hubs.py
"""

import gcnlimit as gl

data = gl.CSBM(alpha=4, lam=1.2, mu=1.5, rho=0.2, directed=False, degrees=gl.Gamma(0.5))
found = {}
for normalization in ("symmetric", "random-walk"):
    network = gl.GCN(gl.PageRank(0.1), normalization=normalization)
    found[normalization] = gl.tune(data, network, {"theta": (0, 0.49)}).prediction.test_accuracy
found["regularized, best constant"] = gl.tune(
    data,
    gl.GCN(gl.PageRank(0.1), normalization=gl.Regularized(0.5)),
    {"theta": (0, 0.49), "tau": (0, 5)},
).prediction.test_accuracy

for name, accuracy in found.items():
    print(f"{name:27} {accuracy:.4f}")
print(f"{'best possible':27} {gl.bayes_optimal(data).test_accuracy:.4f}")
print(f"Conclusion: use {max(found, key=found.get)}.")
