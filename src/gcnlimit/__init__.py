"""Exact limits of graph convolutional networks on the contextual stochastic block model.

>>> import gcnlimit as gl
>>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
>>> gcn = gl.GCN(gl.Diffusion(t=1.488), symmetrize=True)
>>> round(gl.predict(data, gcn).test_accuracy, 4), round(gl.bayes_optimal(data).test_accuracy, 4)
(0.8809, 0.9127)

Each name, listed in ``__init__.pyi``, is imported when it is first used.
"""

from gcnlimit._runtime.extras import on_first_use

__all__, __getattr__ = on_first_use(globals())


def __dir__() -> list[str]:
    return sorted(__all__)
