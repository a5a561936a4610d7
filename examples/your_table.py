"""Which classes do the unlabelled rows of my table have?

Two tables as a spreadsheet saves them: who is linked to whom, and a row for each node, whose class is empty where it is to
be found.

    python examples/your_table.py
"""

import tempfile
from pathlib import Path

import numpy as np

import gcnlimit as gl

rng = np.random.default_rng(0)
graph = gl.sample(
    gl.CSBM(alpha=10, lam=1.5, mu=4.0, rho=0.3, directed=False), nodes=300, degree=10, seed=0
)
with tempfile.TemporaryDirectory() as folder:  # in place of your own two files
    edges, nodes = Path(folder, "edges.csv"), Path(folder, "nodes.csv")
    links = zip(*graph.adjacency.nonzero(), strict=True)
    edges.write_text("who,whom\n" + "".join(f"p{i},p{j}\n" for i, j in links))
    kinds = np.where(graph.train_mask, np.where(graph.labels > 0, "tea", "coffee"), "")
    rows = zip(graph.features[:, :3], rng.choice(["north", "south"], 300), kinds, strict=True)
    nodes.write_text(
        "name,age,income,visits,region,drinks\n"
        + "".join(
            f"p{k},{a:.2f},{b:.2f},{c:.2f},{where},{kind}\n"
            for k, ((a, b, c), where, kind) in enumerate(rows)
        )
    )
    data = gl.real.read(edges, nodes, label="drinks", id="name")

model = gl.GraphClassifier().fit(data.X, data.y, graph=data.graph)
hidden = ~graph.train_mask
right = np.mean((model.predict()[hidden] == "tea") == (graph.labels[hidden] > 0))
low, high = model.expected_accuracy_.low, model.expected_accuracy_.high
print(f"{data.nodes} nodes, {data.X.shape[1]} columns of features, {hidden.sum()} classes to find")
print(f"expected accuracy  {low:.2f} to {high:.2f}")
print(f"Conclusion: {100 * right:.0f} % of the hidden classes are right.")
