"""Results to look at: frames, datasets and pictures hold the numbers of the result under the names of its parameters."""

import functools
import math
import pickle
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

import gcnlimit as gl

LAM, MU = np.array([0.5, 1.0, 1.5]), np.array([1.0, 2.0])
POINT = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
CURVE = gl.CSBM(alpha=4, lam=LAM, mu=2.0, rho=0.1)
PLANE = gl.CSBM(alpha=4, lam=LAM[:, None], mu=MU, rho=0.1)
DIFFUSION = gl.GCN(gl.Diffusion(t=1.0))
FREE = {"t": (0, 10)}


KINDS = {
    "predict": lambda data: gl.predict(data, DIFFUSION),
    "bayes_optimal": gl.bayes_optimal,
    "tune": lambda data: gl.tune(data, DIFFUSION, FREE),
    "gap_map": lambda data: gl.gap_map(data, DIFFUSION, FREE),
    "best_filter": lambda data: gl.best_filter(data, order=3),
    "compare": lambda data: gl.compare(data, depth=2, order=3, reg=math.inf),
    "simulate": lambda data: gl.simulate(data, DIFFUSION, nodes=60, degree=8, trials=2, workers=1),
}


@functools.cache
def made(kind, data):
    return KINDS[kind](data)


@pytest.fixture(params=[POINT, CURVE, PLANE], ids=["point", "curve", "plane"])
def data(request):
    return request.param


@pytest.fixture(params=KINDS)
def result(request, data):
    """Every kind of result, for a single point, a curve and a plane."""
    return made(request.param, data)


def points(result):
    """Values of a result by name, one row for each point."""
    return {name: np.ravel(values) for name, values in result._columns()[1].items()}


def test_a_frame_holds_every_number_beside_its_parameters(result):
    frame = result.to_dataframe()
    for name, values in points(result).items():
        np.testing.assert_array_equal(frame[name], values)
    assert set(frame.alpha) == {4.0}
    assert set(frame.lam) <= set(LAM)


def test_equal_results_are_those_of_the_same_numbers_and_parameters(result, data):
    """Equality answers True or False, on arrays too, and equal results have one hash."""
    again = pickle.loads(pickle.dumps(result))
    assert again is not result
    assert (result == again) is True
    assert hash(result) == hash(again)
    assert (result == made("predict", gl.CSBM(4, 0.3, 2.0, 0.1))) is False
    assert (gl.predict(data, DIFFUSION) == gl.predict(data, gl.GCN(gl.Diffusion(t=2.0)))) is False
    assert result != data


def test_frame_and_dataset_agree_point_by_point(result):
    dataset, frame = result.to_xarray(), result.to_dataframe()
    for row in frame.itertuples():
        here = dataset.sel({axis: getattr(row, axis) for axis in dataset.dims})
        for name in points(result):
            assert here[name].item() == getattr(row, name)
        assert here.mu.item() == row.mu


def test_the_axes_are_the_parameters_that_vary(result):
    dataset = result.to_xarray()
    axes = [axis for axis in dataset.dims if axis != "method"]
    assert axes == ["lam", "mu"][: len(axes)]
    for axis, values in zip(axes, (LAM, MU), strict=False):
        np.testing.assert_array_equal(dataset[axis], values)


def test_the_text_is_short_and_survives_pickling(result):
    lines = repr(result).splitlines()
    assert len(lines) == 1 or (isinstance(result, gl.results.Comparison) and len(lines) == 11)
    assert "None" not in repr(result)
    assert max(map(len, lines)) < 700
    assert repr(pickle.loads(pickle.dumps(result))) == repr(result)


class Cells(HTMLParser):
    """Rows of the tables of a page."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in {"td", "th"}:
            self.rows[-1].append(data)


def test_the_page_shows_the_test_accuracy_of_each_point(result):
    head, *rows = Cells(result._repr_html_()).rows
    column = head.index("test_accuracy")
    shown = [row[column] for row in rows]
    accuracies = points(result)["test_accuracy"]
    if accuracies.size > 12:
        assert shown[6] == "…"
        shown, accuracies = (
            shown[:6] + shown[-6:],
            np.concatenate([accuracies[:6], accuracies[-6:]]),
        )
    assert [text.partition(" ±")[0] for text in shown] == [f"{value:.6g}" for value in accuracies]


def test_a_long_curve_is_one_line_and_a_short_table():
    curve = gl.bayes_optimal(gl.CSBM(alpha=4, lam=np.linspace(0, 2, 1000), mu=2.0, rho=0.1))
    assert repr(curve).startswith("<BayesPrediction over lam (1000): test_accuracy 0.")
    assert len(repr(curve)) < 250
    assert len(Cells(curve._repr_html_()).rows) == 14


def test_a_loss_with_markup_in_its_name_is_shown_as_text():
    loss = type("<b>Own</b>", (gl.Loss,), {"value": gl.Square.value})()
    assert "&lt;b&gt;Own" in gl.predict(POINT, gl.GCN(gl.Diffusion(1.0), loss=loss))._repr_html_()


def test_parameters_that_vary_together_share_an_axis():
    data = gl.CSBM(alpha=4, lam=LAM, mu=2 * LAM, rho=0.1)
    dataset = gl.predict(data, gl.GCN(gl.Diffusion(1.0), reg=[[1.0], [np.inf]])).to_xarray()
    assert dataset.sizes == {"reg": 2, "lam": 3}
    assert dataset.mu.dims == ("lam",)
    np.testing.assert_array_equal(dataset.mu, 2 * LAM)


def test_an_axis_of_one_value_has_the_name_of_the_parameter_given_along_it():
    for lam, mu in (([[1.0]], LAM), (LAM[:, None], [1.0])):
        data = gl.CSBM(alpha=4, lam=lam, mu=mu, rho=0.1)
        dataset = gl.predict(data, gl.GCN(gl.Diffusion(1.0))).to_xarray()
        assert dataset.test_accuracy.dims == ("lam", "mu")
        np.testing.assert_array_equal(dataset.mu, mu)


def test_layers_have_names_of_their_own_unless_they_are_equal():
    equal = gl.predict(POINT, gl.GCN(gl.Residual.constant(LAM, depth=2))).to_xarray()
    np.testing.assert_array_equal(equal.c, LAM)
    assert equal.depth == 2
    free = gl.tune(CURVE, gl.GCN(gl.Residual([1.0, 2.0])), {"c": [(-9, 9), (-9, 9)]})
    np.testing.assert_array_equal(free.to_dataframe()[["c_1", "c_2"]], free.parameters["c"])


def test_an_axis_without_a_name_is_a_point():
    curve = gl.predict(POINT, gl.GCN(gl.Diffusion(LAM)))
    plain = gl.results.Performance(**curve.as_dict())
    assert plain.to_xarray().test_accuracy.dims == ("point",)


def test_a_curve_of_measurements_has_the_standard_errors_as_bars():
    measured = gl.simulate(CURVE, DIFFUSION, nodes=60, degree=8, trials=2, workers=1)
    axes = measured.plot(axes=Figure().add_subplot())
    (bars,) = axes.containers
    np.testing.assert_array_equal(bars[0].get_xdata(), LAM)
    np.testing.assert_array_equal(bars[0].get_ydata(), measured.test_accuracy)
    halves = [np.ptp(segment[:, 1]) / 2 for segment in bars[2][0].get_segments()]
    np.testing.assert_allclose(halves, measured.standard_error.test_accuracy)


def test_a_plane_is_curves_or_a_map_by_the_number_of_curves():
    few = gl.predict(PLANE, DIFFUSION)
    axes = few.plot(axes=Figure().add_subplot())
    assert axes.get_xlabel() == "lam"
    np.testing.assert_array_equal([line.get_ydata() for line in axes.lines], few.test_accuracy.T)
    many = gl.bayes_optimal(
        gl.CSBM(alpha=4, lam=np.linspace(0, 1, 9)[:, None], mu=np.linspace(0, 2, 12), rho=0.1)
    )
    axes = many.plot(axes=Figure().add_subplot())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mu", "lam")
    np.testing.assert_array_equal(axes.collections[0].get_array(), many.test_accuracy)


def test_a_new_figure_names_what_does_not_vary():
    assert (
        gl.predict(CURVE, DIFFUSION).plot().get_title()
        == "alpha = 4, mu = 2, rho = 0.1, t = 1, reg = inf"
    )


def test_a_hard_phase_is_drawn_and_listed():
    found = gl.bayes_optimal(
        gl.CSBM(alpha=1, lam=LAM * 0.95, mu=0, rho=0, directed=False, classes=10)
    )
    np.testing.assert_array_equal(
        found.plot("hard", axes=Figure().add_subplot()).lines[0].get_ydata(), found.hard
    )
    assert (
        found.to_dataframe()["algorithmic_accuracy"].tolist()
        == found.algorithmic.test_accuracy.tolist()
    )
    assert "hard" not in made("bayes_optimal", CURVE).to_dataframe()


def test_infinite_and_wide_regularizations_are_placed():
    infinite = gl.predict(POINT, gl.GCN(gl.Diffusion(1.0), reg=[1.0, np.inf])).plot(
        axes=Figure().add_subplot()
    )
    assert [text.get_text() for text in infinite.get_xticklabels()] == ["1", "inf"]
    wide = gl.predict(POINT, gl.GCN(gl.Diffusion(1.0), reg=[1e-2, 1.0, 1e2])).plot(
        axes=Figure().add_subplot()
    )
    assert wide.get_xscale() == "log"


def test_comparisons_are_dots_at_a_point_and_gaps_along_a_curve():
    point, curve = made("compare", POINT), made("compare", CURVE)
    axes = point.plot(axes=Figure().add_subplot())
    dots = dict(zip(axes.lines[0].get_ydata(), axes.lines[0].get_xdata(), strict=True))
    rows = dict(zip(axes.get_yticks(), axes.get_yticklabels(), strict=True))
    # the first method on top, the ceiling below
    drawn = [(rows[y].get_text(), dots[y]) for y in sorted(dots, reverse=True)]
    assert drawn == list(zip(point.methods, point.test_accuracy, strict=True))
    axes = curve.plot(axes=Figure().add_subplot())
    assert axes.get_xlabel() == "lam"
    np.testing.assert_array_equal([line.get_ydata() for line in axes.lines], curve.gap[:-1])
    with pytest.raises(gl.ParameterError, match="vary one"):
        made("compare", PLANE).plot()


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: gl.predict(POINT, DIFFUSION).plot(), "0 parameters vary"),
        (lambda: gl.predict(CURVE, DIFFUSION).plot("accuracy"), "choose one of test_accuracy"),
        (lambda: gl.predict(CURVE, DIFFUSION).plot("status"), "name = 'status' cannot be drawn"),
        (
            lambda: gl.predict(
                PLANE, gl.GCN(gl.Diffusion(np.ones((2, 1, 1)) * [[[1]], [[2]]]))
            ).plot(),
            "3 parameters vary",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(call, says):
    with pytest.raises(gl.ParameterError, match=says):
        call()


def test_a_missing_package_is_one_sentence():
    """In a process of its own, which has imported none of them."""
    missing = {"to_dataframe": "pandas", "to_xarray": "xarray", "plot": "matplotlib"}
    code = f"""
import sys
sys.modules |= dict.fromkeys({list(missing.values())})
import gcnlimit as gl
curve = gl.bayes_optimal(gl.CSBM(alpha=4, lam=[0.5, 1.0], mu=2.0, rho=0.1))
assert curve._repr_html_()
for call in {list(missing)}:
    try:
        getattr(curve, call)()
    except gl.GCNLimitError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for (call, package), line in zip(missing.items(), done.stdout.splitlines(), strict=True):
        assert f"{call} needs {package}; install it" in line


def test_drawn_and_trained_things_are_short_too():
    graph = gl.sample(POINT, nodes=1000, degree=30)
    for thing in (
        graph,
        gl.fit(graph, DIFFUSION),
        gl.amp(graph),
        gl.GCN(gl.Residual.constant(LAM, 64)),
    ):
        assert len(repr(thing)) < 1000
        assert "\n" not in repr(thing)
    assert "weights=<250 numbers from" in repr(gl.fit(graph, DIFFUSION))
    solved = gl.predict(POINT, gl.GCN(gl.Residual([1.0, 0.5]), reg=1.0)).order_parameters
    assert "sources" not in repr(
        solved
    )  # whole solutions, of which the layers are made when asked for


def test_networks_trained_on_one_graph_are_named_by_their_parameter():
    fitted = gl.fit(gl.sample(POINT, nodes=100, degree=10), gl.GCN(gl.PageRank([0.0, 0.2, 0.4])))
    accuracy = fitted.performance.to_xarray().test_accuracy
    np.testing.assert_array_equal(
        accuracy.sel(theta=[0.4, 0.0]), fitted.performance.test_accuracy[[2, 0]]
    )


def test_a_refused_point_of_equal_classes_shows_no_other_thresholds():
    data = gl.CSBM(4, 1.0, 2.0, [0.1, 0.0])
    shown = gl.predict(data, gl.GCN(gl.PageRank(0.3)), throw=False).distinct()
    assert np.isnan(shown["test_accuracy"]).tolist() == [False, True]
    assert not {"best_accuracy", "balanced_accuracy", "roc_auc"} & shown.keys()
