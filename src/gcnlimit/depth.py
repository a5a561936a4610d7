"""Along the depth: order functions, resolvents, oversmoothing and learning rates.

>>> import gcnlimit as gl
>>> data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)
>>> gl.depth.order_functions(data, gcn, [0.0, 0.5, 1.0]).m.shape
(3,)
"""

from gcnlimit.theory.depth import resolvents
from gcnlimit.theory.depth.order_functions import order_functions
from gcnlimit.theory.depth.oversmoothing import learning_rate, oversmoothing

__all__ = ["learning_rate", "order_functions", "oversmoothing", "resolvents"]
