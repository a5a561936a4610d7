"""Which kind of network is best for my data?

Each family at its best parameters, and the ceilings above them, on a graph whose neighbours differ (heterophily).

    python examples/compare_networks.py
"""

import gcnlimit as gl

data = gl.CSBM(alpha=4, lam=-1.2, mu=2.0, rho=0.1, directed=False)
table = gl.compare(data, depth=2)
print(table)

points = dict(zip(table.methods, 100 * table.gap, strict=True))
left, linear = points[table.best.method], points["all linear networks"]
print(
    f"Conclusion: {table.best.method} leaves {left:.1f} points to gain, the best linear network {linear:.1f}."
)
