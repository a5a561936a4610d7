"""Exact limits of graph convolutional networks on the contextual stochastic block model.

>>> import gcnlimit as gl
>>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
>>> gcn = gl.GCN(gl.Diffusion(t=1.488), symmetrize=True)
>>> round(gl.predict(data, gcn).test_accuracy, 4), round(gl.bayes_optimal(data).test_accuracy, 4)
(0.8809, 0.9127)

Each name is imported when it is first used; ``__init__.pyi`` says the same to type checkers and editors.
"""

from gcnlimit._runtime.extras import on_first_use

_HOMES = {
    "gcnlimit": "benchmark depth real results theory",
    "gcnlimit._version": "__version__",
    "gcnlimit.checks": "check_filter check_loss",
    "gcnlimit.choose.best_filter": "best_filter",
    "gcnlimit.choose.compare": "compare",
    "gcnlimit.choose.gap_map": "gap_map",
    "gcnlimit.choose.tune": "tune",
    "gcnlimit.csbm": "CSBM",
    "gcnlimit.degrees": "Degrees Gamma LogNormal Pareto",
    "gcnlimit.errors": "ConvergenceError GCNLimitError ParameterError",
    "gcnlimit.filters": "Diffusion Filter PageRank Polynomial Residual",
    "gcnlimit.losses": "Hinge Logistic Loss Softmax Square",
    "gcnlimit.network": "GCN",
    "gcnlimit.normalization": "Regularized",
    "gcnlimit.penalties": "ElasticNet Penalty",
    "gcnlimit.real.classifier": "GraphClassifier",
    "gcnlimit.real.describe": "describe",
    "gcnlimit.real.estimate": "estimate",
    "gcnlimit.real.filter_classifier": "FilterClassifier",
    "gcnlimit.real.recommend": "recommend",
    "gcnlimit.real.scores": "cross_validate search",
    "gcnlimit.results.performance": "Status",
    "gcnlimit.simulation.data.instance": "Instance",
    "gcnlimit.simulation.data.sample": "sample",
    "gcnlimit.simulation.fit": "fit",
    "gcnlimit.simulation.infer.amp": "amp",
    "gcnlimit.simulation.infer.belief_propagation": "belief_propagation",
    "gcnlimit.simulation.infer.linear": "linear_message_passing",
    "gcnlimit.simulation.simulate": "simulate",
    "gcnlimit.spectrum": "Spectrum",
    "gcnlimit.sweeps.run": "sweep",
    "gcnlimit.theory": "limits",
    "gcnlimit.theory.bayes": "bayes_optimal",
    "gcnlimit.theory.linear": "best_linear",
    "gcnlimit.theory.predict": "predict",
    "gcnlimit.theory.transfer": "transfer",
    "gcnlimit.training": "GradientDescent GradientFlow",
}
__all__, __getattr__ = on_first_use(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
