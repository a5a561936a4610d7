"""Extreme values of every parameter of every public function: a sound answer, or one sentence of the library's own."""

import inspect
import math
import warnings

import numpy as np
import pytest

import gcnlimit as gl

RANGE = (1e-300, 1e200, 1e30, 1e-30, 0.0, -1.0, math.inf, math.nan, 10**30)
KINDS = (
    "x",
    None,
    [],
    [[1.0], [2.0, 3.0]],
    np.ma.masked_array([1.0, 2.0], [False, True]),
    object(),
)
DATA = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}
FREE = {"t": (0, 3)}


def _data(v):
    return gl.CSBM(v["alpha"], v["lam"], v["mu"], v["rho"])


def _gcn(v, filter=gl.Diffusion):
    return gl.GCN(
        filter(v.get("t", 1.0)),
        v.get("loss", "square"),
        v.get("reg", math.inf),
        v.get("symmetrize", True),
    )


def _instance(v):
    return gl.sample(
        _data(v), nodes=v.get("nodes", 40), degree=v.get("degree", 6.0), seed=v.get("seed", 0)
    )


def _graph(v):
    it = _instance(DATA)
    y = np.where(it.train_mask, it.labels > 0, -1)  # -1 marks a node without a label
    return it.features * v["scale"], y, it.adjacency


FUNCTIONS = {
    "predict": (
        lambda v: gl.predict(_data(v), _gcn(v), tol=v["tol"]),
        DATA | {"t": 1.0, "reg": 1.0, "tol": 1e-8},
    ),
    "predict directed": (
        lambda v: gl.predict(_data(v), _gcn(v), max_iterations=v["n"]),
        DATA | {"t": 0.5, "reg": 1.0, "symmetrize": False, "n": 200},
    ),
    "predict hinge": (lambda v: gl.predict(_data(DATA), _gcn(v)), {"loss": "hinge"}),
    "predict infinite": (lambda v: gl.predict(_data(v), _gcn(v)), DATA | {"t": 1.0}),
    "Residual": (
        lambda v: gl.predict(_data(DATA), gl.GCN(gl.Residual([v["c"]]), reg=1.0)),
        {"c": 1.0},
    ),
    "PageRank": (
        lambda v: gl.predict(
            _data(DATA | v), gl.GCN(gl.PageRank(v["theta"]), reg=v["reg"], symmetrize=False)
        ),
        {"lam": 1.0, "theta": 0.1, "reg": 1.0},
    ),
    "Polynomial": (
        lambda v: gl.predict(_data(DATA), gl.GCN(gl.Polynomial([1.0, v["g"]]), reg=2.0)),
        {"g": 1.0},
    ),
    "ElasticNet": (
        lambda v: gl.predict(
            _data(DATA), gl.GCN(gl.Diffusion(1.0), reg=1.0, penalty=gl.ElasticNet(v["l1_ratio"]))
        ),
        {"l1_ratio": 0.5},
    ),
    "Spectrum": (
        lambda v: gl.predict(
            gl.CSBM(4, 1, 2, 0.1, features=gl.Spectrum([v["variance"], 1.0])), _gcn({"reg": 1.0})
        ),
        {"variance": 2.0},
    ),
    "classes": (
        lambda v: gl.predict(gl.CSBM(4.0, 1.0, 2.0, 0.1, classes=v["classes"]), _gcn({"reg": 1.0})),
        {"classes": 3},
    ),
    "bayes_optimal": (lambda v: gl.bayes_optimal(_data(v)), DATA),
    "best_linear": (lambda v: gl.best_linear(_data(v)), DATA),
    "label_propagation": (
        lambda v: gl.theory.label_propagation(_data(v), v["graph"], v["features"]),
        DATA | {"graph": 0.1, "features": 0.1},
    ),
    "linear_message_passing": (lambda v: gl.linear_message_passing(_instance(v)), DATA),
    "predict in time": (
        lambda v: gl.predict(
            _data(v), gl.GCN(gl.Diffusion(0.7), training=gl.GradientFlow(v["time"]))
        ),
        DATA | {"time": 2.0},
    ),
    "predict after steps": (
        lambda v: gl.predict(
            _data(DATA),
            gl.GCN(
                gl.Diffusion(0.7), training=gl.GradientDescent(v["steps"], v["rate"], v["momentum"])
            ),
        ),
        {"steps": 3, "rate": 0.1, "momentum": 0.5},
    ),
    "bayes_optimal elsewhere": (
        lambda v: gl.bayes_optimal(_data(DATA), to=_data(v), gcn=_gcn({})),
        DATA,
    ),
    "transfer": (
        lambda v: gl.transfer(_data(DATA), _gcn({"reg": 1.0}), _data(v), tol=v["tol"]),
        DATA | {"tol": 1e-8},
    ),
    "transfer trained": (lambda v: gl.transfer(_data(v), _gcn(v), _data(DATA)), DATA | {"t": 1.0}),
    "transfer joining": (lambda v: gl.transfer(_data(v), _gcn(v), "joining"), DATA | {"t": 1.0}),
    "predict two filters": (
        lambda v: gl.predict(
            _data(v), _gcn({"reg": 1.0}).replaced(test_filter=gl.Diffusion(v["read"]))
        ),
        DATA | {"read": 1.0},
    ),
    "best_test_filter": (
        lambda v: gl.theory.best_test_filter(_data(DATA), _gcn({}), _data(v)).values,
        DATA,
    ),
    "best_training_filter": (lambda v: gl.theory.best_training_filter(_data(v)).values, DATA),
    "scatter": (
        lambda v: gl.theory.scatter(_data(v), _gcn(v), v["nodes"]).deviation,
        DATA | {"t": 1.0, "nodes": 40},
    ),
    "paired_scatter": (
        lambda v: (
            gl.theory.paired_scatter(
                _data(v), _gcn(v), gl.GCN(gl.PageRank(0.1)), v["nodes"]
            ).deviation
        ),
        DATA | {"t": 1.0, "nodes": 40},
    ),
    "tune": (lambda v: gl.tune(_data(v), _gcn(v), {"t": (v["low"], 3.0)}), DATA | {"low": 0.0}),
    "tune reg": (lambda v: gl.tune(_data(DATA), _gcn(v), {"reg": (v["low"], 9.0)}), {"low": 0.1}),
    "gap_map": (lambda v: gl.gap_map(_data(DATA | v), _gcn(v), FREE), {"mu": 2.0}),
    "best_filter": (
        lambda v: gl.best_filter(_data(v), v["order"], reg=v["reg"]),
        DATA | {"order": 2, "reg": math.inf},
    ),
    "compare": (
        lambda v: gl.compare(_data(DATA | v), depth=v["depth"], order=1, reg=math.inf),
        {"rho": 0.1, "depth": 1},
    ),
    "sample": (_instance, DATA | {"nodes": 40, "degree": 6.0, "seed": 0}),
    "simulate": (
        lambda v: gl.simulate(
            _data(v), _gcn(v), 40, v["degree"], v["trials"], workers=v["workers"]
        ),
        DATA | {"degree": 6.0, "trials": 2, "workers": 1},
    ),
    "fit": (
        lambda v: gl.fit(_instance(DATA), _gcn(v), tol=v["tol"]),
        {"t": 1.0, "reg": 1.0, "tol": 1e-8},
    ),
    "amp": (
        lambda v: gl.amp(_instance(v), max_iterations=v["n"], tol=v["tol"], damping=v["damping"]),
        DATA | {"n": 20, "tol": 1e-4, "damping": 0.0},
    ),
    "belief_propagation": (
        lambda v: gl.belief_propagation(
            _instance(DATA), max_iterations=v["n"], tol=v["tol"], damping=v["damping"]
        ),
        {"n": 20, "tol": 1e-4, "damping": 0.0},
    ),
    "estimate": (lambda v: gl.estimate(*_graph(v)), {"scale": 1.0}),
    "describe": (lambda v: gl.describe(*_graph(v)), {"scale": 1.0}),
    "sweep": (
        lambda v: gl.sweep("predict", data=_data(v), gcn=_gcn(v), axes={"lam": [v["at"], 1.0]}),
        DATA | {"at": 0.5},
    ),
    "order_functions": (
        lambda v: gl.depth.order_functions(_data(v), _gcn(v), [v["x"]]),
        DATA | {"t": 1.0, "x": 0.5},
    ),
    "oversmoothing": (
        lambda v: gl.depth.oversmoothing(_data(v), [gl.Residual.constant(v["c"], v["K"])]),
        DATA | {"c": 1.0, "K": 2},
    ),
    "one_layer_rate": (lambda v: gl.limits.one_layer_rate(_data(v), v["c"]), DATA | {"c": 1.0}),
    "no_residual_margin": (
        lambda v: gl.limits.no_residual_margin(_data(v), v["depth"]),
        DATA | {"depth": 2},
    ),
    "short_diffusion_margin": (
        lambda v: gl.limits.short_diffusion_margin(_data(v), v["t"], True),
        DATA | {"t": 0.1},
    ),
    "bayes_optimal sparse": (
        lambda v: gl.bayes_optimal(
            _data(v), degree=v["degree"], population=v["size"], sweeps=v["sweeps"]
        ),
        DATA | {"degree": 3.0, "size": 100, "sweeps": 4},
    ),
    "message_passing": (
        lambda v: gl.theory.message_passing(
            _data(v), 2, graph=v["graph"], features=v["gain"], shrinkage=v["s"]
        ),
        DATA | {"graph": 1.0, "gain": 2.0, "s": 2.0},
    ),
    "pca_margin": (lambda v: gl.limits.pca_margin(v["signal"]), {"signal": 2.0}),
    "pca_rate": (
        lambda v: gl.limits.pca_rate(v["signal"], v["c"], v["s"]),
        {"signal": 2.0, "c": 1.0, "s": True},
    ),
    "long_diffusion_limit": (
        lambda v: gl.limits.long_diffusion_limit(v["signal"], v["t"]),
        {"signal": 2.0, "t": 1.0},
    ),
    "constant_residual_limit": (
        lambda v: gl.limits.constant_residual_limit(v["signal"], v["c"], True),
        {"signal": 2.0, "c": 1.0},
    ),
    "learning_rate": (
        lambda v: gl.depth.learning_rate(_data(v), _gcn(v), signals=[3.0, v["top"]]),
        DATA | {"t": 1.0, "top": 4.0},
    ),
    "recommend": (lambda v: gl.recommend(*_graph(v)), {"scale": 1.0}),
    "hard_phase": (lambda v: gl.limits.hard_phase(v["classes"]), {"classes": 5}),
    "from_homophily": (
        lambda v: gl.CSBM.from_homophily(
            v["h"], v["degree"], v["d"], features=9, nodes=99, labelled=9
        ),
        {"h": 0.7, "degree": 6.0, "d": 1.0},
    ),
}
ALLOWED = {
    ("graph", "None"),
    ("gain", "None"),
    ("s", "None"),
    ("degree", "None"),
    ("reg", "None"),
    ("workers", "None"),
    ("c", "[]"),
    ("t", "[]"),
}
"""Numbers matched to the data, a dense graph, the best reg, as many workers as cores, a network without layers."""
ELSEWHERE = {
    "check_filter",
    "check_loss",
    "cross_validate",
    "label_free_signals",
    "search",
}  # take what a user brings, not numbers
CASES = [(name, parameter) for name, (_, good) in FUNCTIONS.items() for parameter in good]  # type: ignore[attr-defined]

LONG = {("tune reg", "low"), ("recommend", "scale"), ("describe", "scale")}


def sound(answer):
    """No NaN where the status says success, and every probability within its bounds."""
    answer = getattr(answer, "prediction", answer)
    status = np.asarray(getattr(answer, "status", 0))
    good = (status >= 0) & (status <= gl.Status.CONVERGED)
    for name in ("test_accuracy", "train_accuracy", "test_loss", "train_loss", "log_test_error"):
        values = np.asarray(getattr(answer, name, 0.0))
        if values.dtype.kind == "f":
            assert not np.any(np.isnan(values) & good), name
            assert "accuracy" not in name or np.all(~good | ((values >= 0) & (values <= 1))), name
    if isinstance(answer, float | np.ndarray):
        assert not np.any(np.isnan(answer))


def refused(call):
    """Whether a call was refused, by one sentence of the library; its answer is sound if it was not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            sound(call())
        except gl.GCNLimitError as error:
            sentence = str(error)
        else:
            return False
    return bool(sentence) and len(sentence.splitlines()) == 1


def test_no_public_function_is_left_out():
    driven = {name.split()[0] for name in FUNCTIONS} | ELSEWHERE
    for home in (gl, gl.limits, gl.depth, gl.theory):
        assert {
            name
            for name in home.__all__
            if name.islower() and inspect.isfunction(getattr(home, name))
        } <= driven


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        pytest.param(*case, id="-".join(case), marks=[pytest.mark.slow] * (case in LONG))
        for case in CASES
    ],
)
def test_an_extreme_value_gives_a_sound_answer_or_one_sentence(name, parameter):
    function, good = FUNCTIONS[name]
    for value in RANGE:
        refused(lambda value=value: function(good | {parameter: value}))
    for value in KINDS if parameter != "scale" else ():
        if (parameter, str(value)) not in ALLOWED:
            assert refused(lambda value=value: function(good | {parameter: value})), value
