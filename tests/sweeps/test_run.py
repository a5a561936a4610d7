"""A sweep gives the producer's own numbers, at the right labels, or one clear sentence."""

import functools
import json
import math

import numpy as np
import pytest
import sweep_producers
import xarray as xr
from problems import DATA

import gcnlimit as gl
from gcnlimit.sweeps import plan as plan_module
from gcnlimit.sweeps.grid import Axis
from gcnlimit.sweeps.plan import Plan, _block_size
from gcnlimit.sweeps.producers import as_producer
from gcnlimit.sweeps.run import _in_flight

DIFFUSION = gl.GCN(gl.Diffusion(t=1.0), symmetrize=True)
RESIDUAL = gl.GCN(gl.Residual([1.0, 1.0]), symmetrize=True)
FIELDS = ["test_accuracy", "train_accuracy", "test_loss", "train_loss", "log_test_error"]


def test_every_point_is_the_prediction_at_its_labels():
    axes = {
        "t": [0.5, 1.0],
        "symmetrize": [False, True],
        "lam": [-0.5, 0.3, 1.2],
        "alpha": [1.0, 4.0],
    }
    ds = gl.sweep(gl.predict, data=DATA, gcn=DIFFUSION, axes=axes)
    assert list(ds.sizes.items()) == [("t", 2), ("symmetrize", 2), ("lam", 3), ("alpha", 2)]
    for index in np.ndindex(*ds.sizes.values()):
        point = ds.isel(dict(zip(ds.sizes, index, strict=True)))
        data = gl.CSBM(float(point.alpha), float(point.lam), 2.0, 0.1)
        one = gl.predict(
            data, gl.GCN(gl.Diffusion(float(point.t)), symmetrize=bool(point.symmetrize))
        )
        for field in FIELDS:
            assert float(point[field]) == pytest.approx(getattr(one, field), rel=1e-13)


@pytest.mark.parametrize(
    ("training", "swept"),
    [
        (gl.GradientFlow(1.0), {"time": [0.1, 2.0, math.inf]}),
        (gl.GradientDescent(3, 0.1, momentum=0.5), {"rate": [0.1, 0.2]}),
    ],
)
def test_numbers_of_a_training_are_swept_and_the_others_kept(training, swept):
    ds = gl.sweep(
        gl.predict, data=DATA, gcn=gl.GCN(gl.Diffusion(1.0), training=training), axes=swept
    )
    kept = {name: getattr(training, name) for name in training.names}
    exact = gl.predict(DATA, gl.GCN(gl.Diffusion(1.0), training=type(training)(**(kept | swept))))
    np.testing.assert_allclose(ds.test_accuracy, exact.test_accuracy, rtol=1e-13)


def test_the_constant_of_a_normalization_is_swept_whatever_it_was():
    hubs = DATA.replaced(degrees=gl.Degrees([1.0, 3.0]))
    gcn = gl.GCN(gl.PageRank(0.2), normalization=gl.Regularized(3.0))
    ds = gl.sweep(gl.predict, data=hubs, gcn=gcn, axes={"tau": [0.5, 3.0]})
    assert float(ds.test_accuracy.sel(tau=3.0)) == gl.predict(hubs, gcn).test_accuracy


def test_the_ceiling_is_swept_as_well():
    ds = gl.sweep("bayes_optimal", data=DATA, axes={"directed": [True, False], "lam": [0.5, 1.0]})
    for directed in (True, False):
        expected = gl.bayes_optimal(gl.CSBM(4, [0.5, 1.0], 2.0, 0.1, directed=directed))
        assert np.array_equal(ds.test_accuracy.sel(directed=directed), expected.test_accuracy)


def test_the_cut_into_blocks_moves_no_number_beyond_rounding(monkeypatch):
    axes = {"lam": np.linspace(0, 2, 23), "t": np.linspace(-1, 1, 7)}
    whole = gl.sweep(gl.predict, data=DATA, gcn=DIFFUSION, axes=axes)
    monkeypatch.setattr(plan_module, "_block_size", lambda *_: 5)
    cut = gl.sweep(gl.predict, data=DATA, gcn=DIFFUSION, axes=axes)
    xr.testing.assert_allclose(whole, cut, rtol=1e-13)


def test_finite_regularization_converges_beside_the_explicit_formula():
    axes = {"reg": [1.0, math.inf], "loss": ["square", "logistic"], "lam": [0.5, 1.0]}
    ds = gl.sweep(gl.predict, data=DATA, gcn=RESIDUAL, axes=axes)
    assert set(ds.status.sel(reg=1.0).values.flat) == {gl.Status.CONVERGED}
    assert set(ds.status.sel(reg=math.inf).values.flat) == {gl.Status.EXPLICIT}
    one = gl.predict(DATA, gl.GCN(gl.Residual([1.0, 1.0]), "logistic", reg=1.0, symmetrize=True))
    point = ds.sel(reg=1.0, loss="logistic", lam=1.0)
    assert float(point.test_accuracy) == pytest.approx(one.test_accuracy, abs=1e-8)


@pytest.mark.parametrize(
    ("gcn", "axes", "filters"),
    [
        (RESIDUAL, {"c": [0.5, 2.0]}, [gl.Residual([0.5] * 2), gl.Residual([2.0] * 2)]),
        (RESIDUAL, {"depth": [1, 4]}, [gl.Residual([1.0]), gl.Residual([1.0] * 4)]),
        (
            RESIDUAL,
            {"c": [[0.5], [1.0, 2.0, 3.0]]},
            [gl.Residual([0.5]), gl.Residual([1.0, 2.0, 3.0])],
        ),
        (
            gl.GCN(gl.Polynomial([1.0]), symmetrize=False),
            {"coefficients": [[1, 2], [1, 2, 3]]},
            [gl.Polynomial([1, 2]), gl.Polynomial([1, 2, 3])],
        ),
        (
            gl.GCN(gl.PageRank(0.1), symmetrize=False),
            {"theta": [0.0, 0.3]},
            [gl.PageRank(0.0), gl.PageRank(0.3)],
        ),
        (
            RESIDUAL,
            {"filter": {"a": gl.Diffusion(1.0), "b": gl.PageRank(0.2)}},
            [gl.Diffusion(1.0), gl.PageRank(0.2)],
        ),
    ],
)
def test_each_filter_parameter_is_an_axis(gcn, axes, filters):
    ds = gl.sweep(gl.predict, data=DATA, gcn=gcn, axes=axes)
    expected = [
        gl.predict(DATA, gl.GCN(f, symmetrize=gcn.symmetrize)).test_accuracy for f in filters
    ]
    assert ds.test_accuracy.values == pytest.approx(expected, rel=1e-13)


def test_depth_and_strength_together():
    ds = gl.sweep(gl.predict, data=DATA, gcn=RESIDUAL, axes={"c": [0.0, 1.0], "depth": [0, 1, 3]})
    expected = gl.predict(DATA, gl.GCN(gl.Residual.constant(1.0, 3), symmetrize=True)).test_accuracy
    assert float(ds.test_accuracy.sel(c=1.0, depth=3)) == pytest.approx(expected, rel=1e-13)


def test_data_and_network_may_be_given_by_name_alone():
    fixed = {"alpha": 4, "mu": 2, "rho": 0.1, "t": 1, "symmetrize": True}
    by_name = gl.sweep("predict", fixed=fixed, axes={"lam": [0.5, 1.0]})
    by_value = gl.sweep("predict", data=DATA, gcn=DIFFUSION, axes={"lam": [0.5, 1.0]})
    assert np.array_equal(by_name.test_accuracy, by_value.test_accuracy)


def test_a_point_out_of_range_is_recorded_and_the_rest_computed():
    gcn = gl.GCN(gl.PageRank(0.1), symmetrize=True)
    ds = gl.sweep(
        gl.predict, data=DATA, gcn=gcn, axes={"lam": [0.0, 0.5, 3.0], "theta": [0.1, 0.4]}
    )
    bad = ds.sel(lam=3.0, theta=0.4)
    assert int(bad.status) == -1
    assert "diverges" in str(bad.error.values)
    assert math.isnan(bad.test_accuracy)
    assert int((ds.status == 0).sum()) == 5
    assert (ds.error.values == "").sum() == 5
    assert np.isfinite(ds.test_accuracy).sum() == 5


def test_your_own_function_is_a_producer_and_may_fail():
    ds = gl.sweep(sweep_producers.picky, axes={"x": [1, 2, 3]})
    assert ds.half.values == pytest.approx([0.5, math.nan, 1.5], nan_ok=True)
    assert ds.error.values.tolist() == ["", "ZeroDivisionError: two is too many", ""]
    assert ds.status.values.tolist() == [100, -1, 100]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            "three",
            "TypeError: the function returned str; "
            "return a dictionary of numbers, a number, or what predict returns",
        ),
        (
            {"y": [1.0, 2.0]},
            "TypeError: the function returned an array as 'y'; give each of its numbers a name",
        ),
        ({"y": "one"}, "ValueError: could not convert string to float: 'one'"),
    ],
)
def test_an_answer_that_is_not_numbers_is_a_failure(answer, reason):
    ds = gl.sweep(lambda x: answer, axes={"x": [1.0]})
    assert ds.error.item() == reason


def test_a_point_that_did_not_converge_keeps_its_numbers_and_says_so():
    ds = gl.sweep(lambda x: {"y": x, "status": gl.Status.NOT_CONVERGED}, axes={"x": [1.0]})
    assert ds.y.item() == 1.0
    assert ds.error.item() == gl.Status.NOT_CONVERGED.message


def test_seeds_are_made_from_the_inputs_and_recorded():
    ds = gl.sweep(sweep_producers.draw, axes={"x": [0.0, 1.0]}, fixed={"trials": 5})
    again = gl.sweep(sweep_producers.draw, axes={"x": [1.0, 2.0, 0.0]}, fixed={"trials": 5})
    assert len({int(seed) for seed in again.seed}) == 3
    xr.testing.assert_identical(ds.sel(x=1.0), again.sel(x=1.0))
    for x in ds.x.values:
        assert (
            float(ds["mean"].sel(x=x)) == sweep_producers.draw(x, int(ds.seed.sel(x=x)), 5)["mean"]
        )


def test_a_given_seed_is_used_as_it_is():
    ds = gl.sweep(sweep_producers.draw, axes={"x": [0.0, 1.0], "seed": range(3)})
    assert float(ds["mean"].sel(x=1.0, seed=2)) == sweep_producers.draw(1.0, 2)["mean"]


def test_theory_in_processes_is_bit_identical(monkeypatch):
    monkeypatch.setattr(plan_module, "_block_size", lambda *_: 50)
    axes = {"lam": np.linspace(0, 2, 20), "t": np.linspace(0, 2, 10), "symmetrize": [True, False]}
    one = gl.sweep(gl.predict, data=DATA, gcn=DIFFUSION, axes=axes)
    two = gl.sweep(gl.predict, data=DATA, gcn=DIFFUSION, axes=axes, workers=2)
    xr.testing.assert_identical(one, two)


def test_the_answer_says_where_it_comes_from():
    ds = gl.sweep(gl.predict, data=DATA, gcn=DIFFUSION, axes={"lam": [0.5, 1.0]})
    assert ds.attrs["gcnlimit_version"] == gl.__version__
    assert json.loads(ds.attrs["parameters"])["alpha"] == 4.0
    assert {"numerical_version", "numpy_version", "scipy_version"} <= set(ds.attrs)
    assert ds.lam.attrs == {"long_name": "signal of the graph", "units": "1"}
    assert ds.test_loss.attrs == {"long_name": "average loss on unlabelled nodes", "units": "1"}
    assert ds.test_accuracy.to_dataframe().shape == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"what": "predcit"}, "choose one of predict"),
        ({"axes": {}}, "at least one axis"),
        ({"axes": {"lamda": [1.0]}}, "did you mean 'lam'"),
        ({"axes": {"nodes": [10]}}, "'nodes' is not an axis of predict"),
        ({"axes": {"lam": []}}, "axis lam is empty"),
        ({"axes": {"lam": 1.0}}, "must be a list of values"),
        ({"axes": {"lam": [1.0, 1.0]}}, "has the value 1.0 twice"),
        ({"axes": {"lam": ["a"]}}, "lam must be real numbers"),
        ({"axes": {"alpha": [1.0, -1.0]}}, "alpha = -1"),
        ({"axes": {"rho": [[0.1], [0.2]]}}, "rho must list numbers"),
        ({"axes": {"loss": ["square", "sqare"]}}, "loss = 'sqare' is unknown"),
        ({"axes": {"depth": [1, 2]}}, "depth is a parameter of Residual, but gcn has a Diffusion"),
        ({"axes": {"t": [1.0], "theta": [0.1]}}, "t and theta belong to different filters"),
        ({"axes": {"filter": ["diffusion"]}}, "filter = 'diffusion' is not a filter"),
        ({"axes": {"symmetrize": [1, 0]}}, "symmetrize must be True or False"),
        ({"axes": {"lam": [1.0]}, "fixed": {"lam": 1.0}}, "lam is given twice"),
        ({"axes": {"lam": [1.0]}, "fixed": {"mu": 1.0}}, "mu is given twice"),
        ({"axes": {"lam": [1.0]}, "fixed": {"t": 1.0}}, "t is given twice"),
        ({"axes": {"lam": [1.0]}, "data": None}, "predict needs alpha"),
        ({"axes": {"lam": [1.0]}, "gcn": None}, "the network has no filter"),
        ({"axes": {"lam": [1.0]}, "data": gl.CSBM(4, 1, [1, 2], 0.1)}, "mu has 2 values"),
        ({"axes": {"lam": [1.0]}, "data": 3}, "data must be a CSBM"),
        ({"axes": {"lam": [1.0]}, "what": "bayes_optimal"}, "bayes_optimal takes no network"),
        ({"axes": {"lam": [1.0]}, "workers": 0}, "workers = 0 is not allowed"),
        (
            {"axes": {"lam": [1.0]}, "workers": 2, "executor": 3},
            "give workers or executor, not both",
        ),
        ({"axes": {"x": [1.0]}, "what": sweep_producers.picky}, "picky is your own function"),
        ({"axes": 3}, "axes must be a dictionary"),
        ({"fixed": 3}, "fixed must be a dictionary"),
        ({"executor": 3}, "executor = 3 is not allowed"),
        ({"store": 3}, "store = 3 is not allowed"),
        (
            {"axes": {"depth": [math.nan]}, "gcn": RESIDUAL},
            "depth = nan is not allowed; it must be a whole number",
        ),
        ({"fixed": {"tol": "x"}}, "tol must be real numbers"),
        ({"fixed": {"max_iterations": []}}, "max_iterations = .* is not allowed"),
        ({"fixed": {"max_iterations": 0}}, "max_iterations = 0 is not allowed"),
        ({"fixed": {"tol": 0.0}}, "tol = 0 is not allowed"),
        ({"fixed": {"streamed": 1}, "what": "simulate"}, "streamed must be True or False"),
        ({"fixed": {"free": 3}, "what": "tune"}, "free = 3 must be a dictionary"),
        (
            {"axes": {"depth": [1, 2]}, "gcn": gl.GCN(gl.Residual([1.0, 2.0]))},
            r"depth needs one c shared by all layers, but gcn has c = \[1.0, 2.0\]",
        ),
        ({"what": dict, "axes": {"x": [1.0]}}, "its parameters have no names"),
        ({"what": functools.partial(max, 1), "axes": {"x": [1.0]}}, "cannot sweep"),
        ({"what": gl.transfer}, "cannot sweep transfer; .* or pass a function"),
        ({"axes": {"loss": [lambda z: np.exp(-z)] * 2}}, "name the values in a dictionary"),
    ],
)
def test_a_mistake_gets_one_clear_sentence(arguments, sentence):
    with pytest.raises(gl.ParameterError, match=sentence) as caught:
        gl.sweep(
            **(
                {"what": "predict", "data": DATA, "gcn": DIFFUSION, "axes": {"lam": [1.0]}}
                | arguments
            )
        )
    assert "\n" not in str(caught.value)


FACTOR = 1.0


def test_functions_that_look_alike_are_told_apart(tmp_path, monkeypatch):
    """By their place in a line, by a default, and by a global: in one sweep, and in one store."""
    point = {"data": DATA, "gcn": gl.GCN(gl.Diffusion(1.0), reg=1.0), "store": tmp_path / "kept"}
    pair = {"exponential": lambda z: np.exp(-z), "logistic": lambda z: np.log1p(np.exp(-z))}
    steps = {steep: lambda z, s=steep: np.log1p(np.exp(-s * z)) for steep in (1, 3)}
    ends = {"a": lambda x: 1 + 0.2 * x, "b": lambda x: np.exp(0.5 * x)}
    ends["c"] = np.exp
    for name, functions in (("loss", pair), ("loss", steps), ("filter", ends)):
        swept = gl.sweep("predict", axes={name: functions}, **point).test_accuracy
        alone = [
            gl.predict(DATA, point["gcn"].replaced(**{name: f})).test_accuracy
            for f in functions.values()
        ]
        np.testing.assert_allclose(swept, alone, rtol=1e-12)
        assert len(set(alone)) == len(functions)

    def scaled(lam):
        return FACTOR * lam

    for factor in (1.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        answer = gl.sweep(scaled, axes={"lam": [0.5, 1.5]}, store=point["store"]).value
        np.testing.assert_array_equal(answer, [0.5 * factor, 1.5 * factor])


def test_a_function_may_return_an_answer_of_the_library():
    to, lam = gl.CSBM(alpha=4, lam=-0.5, mu=2.0, rho=0.1), [0.5, 1.0]

    def moved(lam):
        return gl.transfer(DATA.replaced(lam=lam), DIFFUSION, to)

    swept = gl.sweep(moved, axes={"lam": lam})
    at_once = gl.transfer(DATA.replaced(lam=lam), DIFFUSION, to)
    for name, values in at_once.as_dict().items():
        np.testing.assert_allclose(swept[name], values, rtol=1e-12)
    best = gl.sweep(lambda lam: gl.best_filter(DATA.replaced(lam=lam)), axes={"lam": [0.5]})
    one = gl.best_filter(DATA.replaced(lam=0.5)).prediction
    assert best.test_accuracy.item() == pytest.approx(one.test_accuracy, abs=1e-12)


def test_a_swept_variance_replaces_that_of_the_law_of_the_data():
    gcn, variances = gl.GCN(gl.PageRank(0.3)), [0.2, 0.8]
    for law in (gl.Gamma, gl.LogNormal):
        data = DATA.replaced(degrees=law(5.0))
        swept = gl.sweep("predict", data=data, gcn=gcn, axes={"degrees_variance": variances})
        alone = [gl.predict(data.replaced(degrees=law(v)), gcn).test_accuracy for v in variances]
        np.testing.assert_allclose(swept.test_accuracy, alone, rtol=1e-12)


def test_a_function_that_cannot_travel_is_refused_before_it_is_sent():
    with pytest.raises(gl.ParameterError, match="cannot be sent to other processes"):
        gl.sweep(lambda x: {"y": x}, axes={"x": [1.0, 2.0]}, workers=2)


def test_another_filter_at_test_has_names_of_its_own():
    data, gcn = (
        gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1),
        gl.GCN(gl.PageRank(0.4), test_filter=gl.PageRank(0.1)),
    )
    swept = gl.sweep("predict", data=data, gcn=gcn, axes={"test_theta": [0.1, 0.3]}).test_accuracy
    kept = gl.sweep("predict", data=data, gcn=gcn, axes={"lam": [0.5, 1.0]}).test_accuracy
    np.testing.assert_allclose([swept[0], kept[1]], gl.predict(data, gcn).test_accuracy, rtol=1e-14)
    with pytest.raises(gl.ParameterError, match="belong to different filters"):
        gl.sweep("predict", data=data, gcn=gcn, axes={"test_theta": [0.1], "test_t": [0.1]})


@pytest.mark.parametrize(
    "what, common, alone",
    [
        ("bayes_optimal", {"degree": 5.0}, True),
        ("bayes_optimal", {}, False),
        ("simulate", {"degree": 5.0, "reg": 1.0}, False),
        ("predict", {"reg": math.inf}, False),
    ],
)
def test_ceilings_of_sparse_graphs_are_computed_one_at_a_time(what, common, alone):
    producer = as_producer(what)
    assert _block_size(producer, common, []) == (1 if alone else producer.block)


def test_blocks_of_solved_points_are_smaller_than_explicit_ones():
    """Whether the regularization is swept or not."""
    producer = as_producer("predict")
    explicit, solved, swept = (
        _block_size(producer, common, axes)
        for common, axes in (
            ({"reg": math.inf}, []),
            ({"reg": 1.0}, []),
            ({"reg": math.inf}, [Axis.of("reg", [1.0, math.inf])]),
        )
    )
    assert 1 < solved == swept < explicit


@pytest.mark.parametrize("degrees, largest", [([10, 30], 30), ([10, None], None)])
def test_a_device_is_shared_by_as_many_as_hold_the_largest_of_the_points(
    degrees, largest, monkeypatch
):
    """Of nodes and degrees the largest; a graph without a degree is dense, and larger than any other."""
    asked = []
    monkeypatch.setattr(
        "gcnlimit.simulation.simulate.in_flight", lambda *given: asked.append(given) or 5
    )
    axes = {"nodes": [100, 400], "degree": degrees, "lam": [0.5, 1.0]}
    plan = Plan(as_producer("simulate"), axes, DATA, DIFFUSION, {"trials": 3})
    assert _in_flight(plan) == 5
    ((size, points, trials),) = asked
    assert (size.nodes, size.degree) == (400, largest)
    assert points * trials == 8 * 3  # all trials of all points
    assert _in_flight(Plan(as_producer("predict"), {"lam": [0.5]}, DATA, DIFFUSION, {})) == 1
