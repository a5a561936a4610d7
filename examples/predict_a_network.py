"""How accurate will a network be, and how far is that from the best possible?

The prediction is exact in the limit of many nodes; `simulate` checks it by training the same network on sampled graphs.

    python examples/predict_a_network.py
"""

import gcnlimit as gl

data = gl.CSBM.from_homophily(
    0.6, degree=20, distance=2.0, nodes=4000, features=400, labelled=400, directed=False
)
gcn = gl.GCN(gl.Residual([1.0, 1.0]), loss="logistic", reg=1.0)

exact = gl.predict(data, gcn)
trained = gl.simulate(data, gcn, nodes=2000, degree=20, trials=4, seed=0, workers=1)
best = gl.bayes_optimal(data)

print(f"predicted      {exact.test_accuracy:.3f}, on training nodes {exact.train_accuracy:.3f}")
print(f"simulated      {trained.test_accuracy:.3f} +- {trained.standard_error.test_accuracy:.3f}")
print(f"best possible  {best.test_accuracy:.3f}")
print(
    f"Conclusion: {100 * (best.test_accuracy - exact.test_accuracy):.1f} points are left to gain."
)
