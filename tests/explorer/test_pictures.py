"""Pictures are the library's numbers, and the lines of code beside them give the same."""

import contextlib
import functools
import io
import json
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

import gcnlimit as gl
from gcnlimit.cli.app import app
from gcnlimit.explorer.answers import compute
from gcnlimit.explorer.computations import COMPUTATIONS
from gcnlimit.explorer.curves import STRENGTHS, bounds, tuned
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.sentences import depth_answer, elsewhere_answer, gain_answer
from gcnlimit.explorer.start import PRESETS
from gcnlimit.explorer.state import State

STATES = {
    "explicit": State(),
    "heterophily, directed": State(lam=-1.3, symmetrize=False, family="residual", depth=3),
    "classes": State(classes="0.2, 0.8", reg=1.0),
    "logistic": State(loss="logistic", reg=2.0, directed=False),
    "hubs": State(degrees_variance=0.5),
}


@functools.cache
def _computed(name, key):
    return COMPUTATIONS[name].compute(key)


def results(names, state):
    """Numbers of a state, each computed once for all tests."""
    return {name: _computed(name, COMPUTATIONS[name].key(state)) for name in names}


def complete(name, state):
    """Picture with all of its numbers."""
    return PICTURES[name].draw(state, results(needs(name, state), state))


def _numbers(text):
    return np.array(
        [float(v) for v in text.replace("[", " ").replace("]", " ").replace("\n", " ").split()]
    )


def _printed(python):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), np.printoptions(threshold=10**6, precision=17):
        exec(python, {})
    return _numbers(out.getvalue())


@pytest.mark.parametrize("family", STRENGTHS)
@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_python_and_command_give_the_curve(state, family):
    picture = complete(f"strength-{family}", state)
    curve = picture.curves[0]
    np.testing.assert_allclose(_printed(picture.python), curve.y, atol=1e-9)
    result = CliRunner().invoke(app, [*shlex.split(picture.command)[1:], "--json"])
    rows = json.loads(result.stdout)
    answers = [np.nan if row["test_accuracy"] is None else row["test_accuracy"] for row in rows]
    np.testing.assert_allclose(np.array(answers, float), curve.y, atol=1e-9)


@pytest.mark.parametrize("family", STRENGTHS)
def test_the_best_strength_is_that_of_tune(family):
    state = State(family=family)
    name = state.parameter
    best = gl.tune(
        state.data, state.gcn, {name: (-0.75, 0.75) if family == "pagerank" else (-5, 5)}
    )
    top = next(
        curve for curve in complete(f"strength-{family}", state).curves if curve.name == "best"
    )
    assert top.y[0] == pytest.approx(best.prediction.test_accuracy, abs=1e-7)
    assert getattr(tuned(state), name) == pytest.approx(best.parameters[name], rel=1e-3)


@pytest.mark.parametrize("axis", ["lam", "rho", "classes"])
def test_along_an_axis_nothing_exceeds_the_ceiling(axis):
    curves = {c.name: c for c in complete("axis", State(axis=axis)).curves}
    here, top, ceiling = curves["this network"], curves["best diffusion"], curves["Bayes-optimal"]
    assert np.all(here.y <= top.y + 1e-9)
    assert np.all(top.y <= ceiling.y + 1e-9)
    changed = {axis: int(here.x[3]) if axis == "classes" else here.x[3]}
    expected = gl.predict(State().data_at(**changed), State().gcn).test_accuracy
    assert here.y[3] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("axis", ["mu", "classes"])
def test_code_along_an_axis_prints_its_curves(axis):
    picture = complete("axis", State(axis=axis))
    x, y, linear, ceiling = _printed(picture.python).reshape(-1, 4).T
    np.testing.assert_allclose(x, picture.curves[0].x, rtol=1e-12)
    np.testing.assert_allclose(y, picture.curves[0].y, atol=1e-12)
    np.testing.assert_allclose(ceiling, picture.curves[1].y, atol=1e-12)
    np.testing.assert_allclose(linear, picture.curves[2].y, atol=1e-12)


def test_code_of_the_layers_prints_their_curves():
    picture = complete("layers", State(c=0.5))
    layers, best, kept = _printed(picture.python).reshape(-1, 3).T
    np.testing.assert_array_equal(layers, picture.curves[0].x)
    np.testing.assert_allclose(best, picture.curves[0].y, atol=1e-9)
    np.testing.assert_allclose(kept, picture.curves[1].y, atol=1e-12)


@pytest.mark.parametrize(
    "state", [State(), State(reg=1.0, family="residual", depth=3)], ids=["diffusion", "residual"]
)
def test_code_of_the_depth_prints_its_curves(state):
    picture = complete("depth", state)
    m, size = _printed(picture.python).reshape(2, -1)
    np.testing.assert_allclose(m, picture.curves[0].y, atol=1e-12)
    np.testing.assert_allclose(size, picture.curves[1].y, atol=1e-12)


def test_code_of_the_spectrum_prints_the_best_filter():
    picture = complete("spectrum", State())
    drawn = next(c for c in picture.curves if c.name.startswith("best filter"))
    printed = _printed(picture.python)
    x, g = printed[:-1].reshape(2, -1)
    order = np.argsort(x)
    np.testing.assert_allclose(x[order], drawn.x, atol=1e-12)
    np.testing.assert_allclose(np.abs(g[order]), np.abs(drawn.y), atol=1e-9)
    assert f"reaches {printed[-1]:.4f}" in picture.sentence


def test_the_map_is_what_its_code_prints_and_holds_the_point():
    state = State(lam=0.5, mu=1.0)
    picture = complete("gap", state)
    np.testing.assert_allclose(_printed(picture.python), picture.map.z.ravel(), atol=1e-9)
    assert picture.map.point == (0.5, 1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"symmetrize": False, "family": "pagerank"},
        {"degrees_variance": 0.5, "family": "pagerank"},
        {"classes": "0.3, 0.7", "family": "residual"},
    ],
)
def test_the_map_holds_for_signals_of_both_signs(changes):
    state = State(**changes)
    drawn = complete("gap", state).map
    data = state.data_at(lam=drawn.x[[9, 21]], mu=drawn.y[4])
    expected = gl.gap_map(data, state.explicit(state.family), bounds(state.family))
    np.testing.assert_allclose(drawn.z[4, [9, 21]], expected.gap, atol=1e-9)


@pytest.mark.parametrize("lam, end", [(1.5, -1), (-1.5, 0)])
def test_the_spike_lies_at_the_end_of_the_curve_of_the_filter(lam, end):
    curves = {c.name: c for c in PICTURES["spectrum"].draw(State(lam=lam, t=0.7), {}).curves}
    drawn, spike = curves["this filter"], curves["spike"]
    assert np.max(np.abs(drawn.y)) == 1.0
    assert (spike.x[0], spike.y[0]) == pytest.approx((drawn.x[end], drawn.y[end]), rel=1e-12)


def test_the_best_filter_of_the_picture_is_not_below_any_family():
    picture = complete("spectrum", State())
    reached = float(picture.sentence.split("reaches ")[1].split(";")[0])
    families = [
        c.y[0]
        for f in STRENGTHS
        for c in complete(f"strength-{f}", State()).curves
        if c.name == "best"
    ]
    assert reached >= max(families) - 1e-4


def test_along_the_depth_of_a_residual_network_each_layer_is_drawn():
    picture = complete("depth", State(family="residual", depth=5))
    assert picture.curves[0].x.tolist() == [0, 1, 2, 3, 4]
    functions = gl.depth.order_functions(State().data, State(family="residual", depth=5).gcn)
    np.testing.assert_allclose(picture.curves[0].y, functions.m)


def test_the_best_along_an_axis_is_that_of_tune_at_infinite_regularization():
    state = State(reg=10.0, axis="lam", family="residual")
    top = next(c for c in complete("axis", state).curves if c.name == "best residual network")
    data = state.data_at(lam=top.x[20])
    expected = gl.tune(
        data, state.explicit("residual"), {"c": (-np.inf, np.inf)}
    ).prediction.test_accuracy
    assert top.y[20] == pytest.approx(expected, abs=1e-9)


def test_layers_of_a_residual_network_reach_the_diffusion_from_below():
    curves = {c.name: c.y for c in complete("layers", State(c=0.5)).curves}
    assert np.all(np.diff(curves["best c"]) > 0)
    assert np.all(curves["best c"] >= curves["c = 0.5"] - 1e-9)
    assert curves["best c"][-1] < curves["best diffusion"][0] <= curves["Bayes-optimal"][0]


@pytest.mark.parametrize(
    "state",
    [State(c=0.5), State(c=0.5, directed=False, lam=-1.3, classes="0.3, 0.7"), State(classes="4")],
)
@pytest.mark.parametrize("name", ["strength-residual", "strength-diffusion", "axis", "layers"])
def test_no_network_of_a_picture_is_above_all_linear_ones_and_these_are_below_the_ceiling(
    state, name
):
    curves = {curve.name: curve.y for curve in complete(name, state).curves}
    linear, ceiling = curves.pop("all linear networks"), curves.pop("Bayes-optimal")
    assert np.all(linear <= ceiling)
    assert all(np.nanmax(y) <= np.max(linear) for y in curves.values())


def test_both_questions_are_answered_with_the_numbers_of_the_library():
    state = State()
    found = results(("here", "ceiling", "diffusion"), state)
    best = gl.tune(state.data, state.gcn, {"t": (-5, 5)})
    assert f"t = {best.parameters['t']:.3g}" in depth_answer(state, found)
    for p in (gl.predict(state.data, state.gcn), best.prediction, gl.bayes_optimal(state.data)):
        assert f"{p.test_accuracy:.4f}" in gain_answer(state, found)


def test_what_has_no_theory_is_said_in_the_words_of_the_page():
    """Of controls, not of arguments; and a network without an answer is said to be one."""
    told = compute("diffusion", State(classes="3", loss="logistic", reg=1.0)).sentence
    assert told.startswith("There is no theory for loss = logistic, classes = 3 and finite reg")
    assert told.endswith("; take loss softmax or square, or infinite regularization.")
    state = State(family="pagerank", theta=0.74)
    results = {name: compute(name, state).value for name in ("ceiling", "here")}
    assert "This network has no answer" in gain_answer(state, results)


def test_where_a_curve_ends_the_reason_is_that_of_its_end():
    """The radius of the spectrum where it begins to be too large, not at the edge of the picture."""
    state = State(family="pagerank", theta=0.4, degrees_variance=1.0)
    _, network, _, _, why = COMPUTATIONS["along"].compute(state)
    allowed = float(why.rpartition(" ")[2])
    assert np.isnan(network[-1])
    assert 0.9 * state.theta < allowed < state.theta


def test_the_curve_covers_every_value_of_its_control():
    for state in (
        State(t=5.0),
        State(t=-18.0),
        State(family="residual", c=40.0),
        State(family="residual", depth=12),
    ):
        curve, *_, here = complete(f"strength-{state.family}", state).curves
        assert curve.x[0] <= here.x[0] <= curve.x[-1]
    for state in (State(mu=44.0, axis="mu"), State(alpha=130.0, axis="alpha")):
        curve, *_, here = complete("axis", state).curves
        assert curve.x[0] <= here.x[0] <= curve.x[-1] * (1 + 1e-12)


@pytest.mark.slow
def test_at_finite_regularization_each_depth_has_its_own_best_one():
    """Deeper networks are better, and none is worse than at infinite regularization; tune finds the same."""
    state = State(reg=10.0, family="residual")
    found = results(["layers"], state)["layers"]
    explicit = results(["layers"], state.replaced(reg=float("inf")))["layers"]
    assert np.all(np.diff(found.best) > -1e-5)
    for finite, infinite in zip(found[:2], explicit[:2], strict=True):
        assert np.all(finite >= infinite - 1e-12)
    assert found.best[-1] < found.diffusion
    printed = _printed(complete("layers", state).python.replace("range(1, 13)", "(1, 3)")).reshape(
        -1, 3
    )
    np.testing.assert_allclose(printed[:, 1], found.best[[0, 2]], atol=2e-5)
    np.testing.assert_allclose(printed[:, 2], found.kept[[0, 2]], atol=2e-5)


def test_a_sparse_problem_has_the_ceiling_of_its_degree():
    state = PRESETS["Benchmark problems"]["sparse"]
    assert "sparse ceiling" in needs("axis", state)
    ceiling = results(["ceiling"], state) | {"sparse ceiling": 0.8785}
    assert "large degree; at mean degree 3 the limit is 0.8785" in gain_answer(state, ceiling)
    assert "sparse ceiling" not in needs("axis", State())


def test_the_best_strength_of_unequal_classes_is_that_of_tune():
    state = State(classes="0.2, 0.8")
    best = gl.tune(state.data, state.gcn, {"t": (-5, 5)}).prediction.test_accuracy
    assert f"accuracy {best:.4f}" in depth_answer(state, results(["diffusion"], state))


def test_answers_of_an_uploaded_graph_are_of_its_model():
    state = State(estimated=True)
    found = results(("here", "ceiling", "diffusion"), state)
    for words in (depth_answer(state, found), gain_answer(state, found)):
        assert words.startswith(
            "This holds for a model with these parameters, not for your graph itself."
        )


@pytest.mark.parametrize(
    "lam, words", [(1.0, "larger t oversmooths"), (-1.0, "below zero"), (0.0, "does not help")]
)
def test_what_lies_beyond_the_best_diffusion_time(lam, words):
    state = State(lam=lam, mu=4.0)
    assert words in depth_answer(state, results(["diffusion"], state))


ELSEWHERE = State(lam=1.2, directed=False, elsewhere=True, to_lam=-1.2)


def test_another_graph_is_answered_with_the_numbers_of_the_library():
    """The picture at its dot, the words and the printed code; the best filter is even in the signal of the other graph."""
    picture = complete("elsewhere", ELSEWHERE)
    same, best, frozen, ceiling, linear = _printed(picture.python)
    assert best <= linear <= ceiling
    words = elsewhere_answer(ELSEWHERE, results(["elsewhere"], ELSEWHERE))
    for number in (same, best, frozen, ceiling):
        assert f"{number:.4f}" in words
    curves = {curve.name: curve for curve in picture.curves}
    assert curves["here"].y[0] == pytest.approx(same, abs=1e-12)
    np.testing.assert_allclose(curves["best filter"].y, curves["best filter"].y[::-1], atol=1e-12)
    for between in ("same weights", "all linear networks"):
        order = ["same filter", "best filter", between, "Bayes-optimal"]
        assert np.all(np.diff([curves[name].y for name in order], axis=0) > -1e-12)


def test_a_filter_that_another_graph_does_not_allow_is_said():
    state = State(family="pagerank", theta=0.4, elsewhere=True, to_lam=3.0)
    found = results(["elsewhere"], state)
    assert "its filter is not defined" in elsewhere_answer(state, found)
    known = np.isfinite(found["elsewhere"].same)
    assert known.any()
    assert not known.all()


def test_another_graph_is_out_of_sight_until_it_is_asked_for():
    assert needs("elsewhere", State()) == ()
    assert complete("elsewhere", State()).curves == ()


HUBS = PRESETS["First steps"]["Hubs: divide by the degree plus a constant"]


def test_hubs_are_answered_by_the_theory_of_degrees():
    found = results(("here", "ceiling", "pagerank"), HUBS)
    data = gl.CSBM(10, 1.0, 1.0, 0.05, directed=False, degrees=gl.Gamma(1.0))
    best = gl.tune(
        data, gl.GCN(gl.PageRank(0.1), normalization="regularized"), {"theta": (-0.75, 0.75)}
    ).prediction
    words = gain_answer(HUBS, found)
    for p in (
        gl.predict(data, gl.GCN(gl.PageRank(HUBS.theta), normalization="regularized")),
        gl.bayes_optimal(data),
        best,
    ):
        assert f"{p.test_accuracy:.4f}" in words
    assert "degrees of variance 1" in words
    symmetric = results(["pagerank"], HUBS.replaced(normalization="symmetric"))["pagerank"]
    assert found["pagerank"].height > symmetric.height


@pytest.mark.parametrize("name", ["filter", "depth", "elsewhere"])
def test_what_hubs_have_no_theory_for_is_a_sentence(name):
    with pytest.raises(gl.GCNLimitError, match="known for equal degrees only"):
        COMPUTATIONS[name].compute(HUBS.replaced(family="residual"))


@pytest.mark.parametrize("name", ["diffusion", "layers", "gap"])
def test_what_takes_minutes_with_hubs_is_a_sentence(name):
    with pytest.raises(gl.GCNLimitError, match="takes minutes"):
        COMPUTATIONS[name].compute(HUBS)


@pytest.mark.parametrize(
    "state", [State(), State(family="pagerank", theta=0.2, symmetrize=False, classes="3")]
)
def test_the_training_begins_at_infinite_regularization_and_its_code_gives_the_curves(state):
    picture = complete("training", state)
    assert picture.shown()["figure"]["log"]
    names = [curve.name for curve in picture.curves]
    assert names == ["stopped at t", "ridge, reg = 1/t", "Bayes-optimal"]
    stopped, ridge, _ = (curve.y for curve in picture.curves)
    printed = _printed(picture.python).reshape(2, -1)
    np.testing.assert_allclose(printed, [stopped, ridge], rtol=1e-12)
    first = gl.predict(state.data, state.gcn.replaced(reg=float("inf"))).test_accuracy
    assert stopped[0] == pytest.approx(first, abs=1e-3)
    assert stopped.max() < ridge.max() + 3e-4
    assert f"{stopped.max():.4f}" in picture.sentence


@pytest.mark.parametrize("state", [State(rho=0.25), State(t=20.0)])
def test_a_training_that_never_ends_has_a_curve(state):
    """With as many labelled nodes as features, or a steep filter, eigenvalues reach down to 0."""
    picture = complete("training", state)
    stopped, ridge, _ = (curve.y for curve in picture.curves)
    assert np.all(np.diff(stopped[-20:]) < 0.0)
    assert ridge[-1] > stopped[-1] > 0.5
    assert "takes for ever" in picture.sentence


@pytest.mark.parametrize(
    ("name", "state", "logarithmic"),
    [
        ("strength-diffusion", State(), False),
        ("axis", State(), False),
        ("axis", State(axis="rho"), True),
    ],
)
def test_the_axis_is_as_logarithmic_as_its_slider(name, state, logarithmic):
    assert complete(name, state).shown()["figure"]["log"] == logarithmic


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (State(degrees_variance=0.5), "equal degrees"),
        (State(classes="0.2, 0.8"), "equal classes"),
        (State(symmetrize=False), "symmetrize the graph"),
        (State(family="pagerank", theta=0.471404), "so steep a filter"),
    ],
)
def test_a_training_without_a_theory_is_refused_in_words_of_the_page(state, why):
    with pytest.raises(gl.GCNLimitError, match=why):
        COMPUTATIONS["training"].compute(state)


def test_a_network_without_an_answer_is_said_to_have_none():
    """PageRank beyond its pole at every value of the axis: no number, and why."""
    state = State(lam=2.5, family="pagerank", theta=0.3, axis="rho")
    results = {
        name: COMPUTATIONS[name].compute(state) for name in ("ceiling", "linear", "here", "along")
    }
    words = PICTURES["axis"].draw(state, results).sentence
    assert "No curve is drawn: theta = 0.3 is not allowed" in words
    assert "nan" not in words
