"""Which filter should a trained network use on another graph?

The weights stay the same. The new graph has the opposite homophily, so the filter of the training is wrong for it.

    python examples/another_graph.py
"""

import gcnlimit as gl
from gcnlimit.theory import best_test_filter

here = gl.CSBM(alpha=4, lam=1.0, mu=3.0, rho=0.2, directed=False)
there = here.replaced(lam=-1.0)
gcn = gl.GCN(gl.PageRank(0.4), reg=1.0)

same = gl.transfer(here, gcn, there).test_accuracy
without = gl.transfer(here, gcn.replaced(test_filter=gl.PageRank(0.0)), there).test_accuracy
best = best_test_filter(here, gcn, there)
tuned = gl.transfer(here, gcn.replaced(test_filter=best), there).test_accuracy

print(f"filter of the training, theta = {gcn.filter.theta:.2f}  {same:.3f}")
print(f"no graph at all                       {without:.3f}")
print(f"best filter there, theta = {best.theta:.2f}      {tuned:.3f}")
print(
    f"Conclusion: the sign of the filter follows the homophily; it is worth {100 * (tuned - same):.1f} points."
)
