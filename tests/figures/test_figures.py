"""Figures of the paper and of the pages: numbers bear out the statements, and pictures are drawn from the numbers alone."""

import functools
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray
from reference import ROOT

import gcnlimit as gl
from gcnlimit import ParameterError
from gcnlimit.figures import best, depth, diffusion, strength
from gcnlimit.figures.base import Simulation
from gcnlimit.figures.registry import FIGURES, find, read, statements, write
from gcnlimit.figures.style import picture

OF_THE_PAGES = sorted(map(str, (ROOT / "docs" / "figures").glob("*.py")))

FAILING = {
    ("diffusion-symmetrized", "r = inf is nearly optimal"),
    ("gap", "below snr = 1 the network is a few percent (5 %) from optimality"),
    ("gap", "at alpha = 2, rho = 0.3 the gap is a few percent (5 %) for all lam and mu"),
}
"""Statements that the numbers do not bear out, by a little: r = 10 gains 0.8 percent at alpha = 2, rho = 0.3, and the gap
reaches 5.1 and 5.2 percent."""

COARSE = {
    "introduction": ("SIGNALS", best.SIGNALS[::10]),  # each a search over filter and regularization
    "diffusion-directed": ("SOLVED", np.array([0.0, 0.25, 0.75, 1.25, 2.0])),
    "diffusion-symmetrized": ("SOLVED", np.array([0.0, 0.25, 0.75, 1.25, 2.0])),
    "imbalance-colour": ("REG", np.geomspace(1e-2, 1e3, 11)),
    "hard-phase": ("_HALVINGS", 14),
    "degrees": ("VARIANCES", np.linspace(0.0, 2.0, 3)),
}
"""Grids that take seconds, less fine."""


SLOW = (  # even so
    "introduction",
    "residual-strength",
    "train-error",
    "diffusion-directed",
    "optimal-time",
    "hard_phase.py",
    "imbalance_colour.py",
    "degrees.py",
)
NAMES = [
    pytest.param(
        name,
        marks=[pytest.mark.slow] if name.endswith(SLOW) else [],
        id=name.rsplit("/", maxsplit=1)[-1],
    )
    for name in [*FIGURES, *OF_THE_PAGES]
]


@functools.cache
def data(name):
    """Numbers of a figure."""
    figure = find(name)
    grid, value = COARSE.get(figure.name, ("", None))
    module = getattr(figure.data, "func", figure.data).__globals__
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module, grid, value)
        return figure.data()


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_bear_out_the_statements_and_are_all_that_a_picture_needs(
    name, tmp_path, monkeypatch
):
    """A second or two each: a figure has hundreds of numbers and some panels."""
    monkeypatch.setattr(
        "gcnlimit.figures.registry.save", lambda canvas, path: path
    )  # it is drawn below
    figure, dataset = find(name), data(name)
    for statement in figure.statements(dataset):
        assert statement.holds != ((name, statement.text) in FAILING), statement
    numbers, _ = write(figure, dataset, tmp_path)
    again = read(figure, numbers)
    assert again.drop_attrs().identical(dataset.drop_attrs())
    _check_picture(figure, again)


def _check_picture(figure, dataset):
    """Every panel is named and filled by its curves, all text can be read, and the common legend stands below the panels."""
    canvas = picture(figure, dataset)
    canvas.canvas.draw()
    panels = canvas.axes[: math.prod(figure.panels)]
    assert all(panel.get_xlabel() for panel in panels[-figure.panels[1] :])
    assert all(panel.lines or panel.collections for panel in panels)
    for panel in panels:
        _check_filled(figure, panel)
        ticks = [*panel.get_xticklabels(), *panel.get_yticklabels()]
        notes = [text for legend in canvas.legends for text in legend.texts] + list(panel.texts)
        sizes = {text.get_fontsize() for text in ticks + notes}
        assert sizes == {8.0}
        assert 8.0 < panel.title.get_fontsize() <= panel.xaxis.label.get_fontsize() <= 10.0
    for legend in canvas.legends:
        assert legend.get_window_extent().y1 < min(panel.get_window_extent().y0 for panel in panels)


def _check_filled(figure, panel):
    """Curves reach from side to side, none is cut off along the axis, and they fill most of the height."""
    lines = [line for line in panel.lines if len(line.get_xydata()) > 2]
    if not lines:  # a map
        return
    to_panel = panel.transData + panel.transAxes.inverted()
    x = np.concatenate([to_panel.transform(line.get_xydata())[:, 0] for line in lines])
    heights = [np.asarray(line.get_ydata(), float) for line in panel.lines]
    y = to_panel.transform([(0.0, value) for height in heights for value in height])[:, 1]
    assert -1e-9 <= x.min() <= 0.05
    assert 0.95 <= x.max() <= 1.0 + 1e-9
    if figure.name != "residual-strength":  # which has room for an inset
        assert np.ptp(np.clip(y[np.isfinite(y)], 0.0, 1.0)) > 0.65


ADDED = {"learning-rates": 2, "diffusion-directed": 6, "diffusion-symmetrized": 6}
"""Lines of a panel that are no numbers of the figure: slopes to compare with, and curves through few points."""


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in ("introduction", "gap")])
def test_curves_are_the_numbers_of_the_figure(name):
    """Each curve of each panel is one row of the numbers, none is drawn twice, and each has its name in the legend."""
    figure, dataset = find(name), data(name)
    rows = set()
    for variable in dataset.data_vars.values():
        for along in variable.dims:
            for row in np.moveaxis(variable.values, variable.dims.index(along), -1).reshape(
                -1, dataset.sizes[along]
            ):
                rows |= {row.tobytes(), np.exp(row).tobytes()}
    canvas = picture(figure, dataset)
    drawn = []
    for panel in canvas.axes[: math.prod(figure.panels)]:
        curves = [line.get_ydata() for line in panel.lines if len(line.get_xydata()) > 2]
        ours = [curve.tobytes() for curve in curves if curve.tobytes() in rows]
        assert len(curves) - len(ours) == ADDED.get(name, 0)
        drawn += ours
        labels = panel.get_legend_handles_labels()[1]
        assert set(labels) <= {
            text.get_text() for legend in canvas.legends for text in legend.texts
        }
    assert len(drawn) == len(set(drawn)) > len(canvas.axes)


def test_the_colours_of_the_map_are_percents_from_none_to_the_largest_gap():
    dataset = data("gap")
    canvas = picture(find("gap"), dataset)
    largest = float(dataset.gap.max())
    for panel in canvas.axes[:2]:
        colours, threshold = panel.collections
        assert colours.levels[0] == 0.0
        assert np.diff(colours.levels) == pytest.approx(0.01)
        assert colours.levels[-2] < largest <= colours.levels[-1]
        assert threshold.levels.tolist() == [1.0]
        assert (panel.get_xlim(), panel.get_ylim()) == ((0.0, 2.0), (0.0, 3.0))


def test_the_introduction_fills_its_panel_with_one_curve_for_each_network_and_the_ceiling():
    size = best.SIGNALS.size
    dataset = xarray.Dataset(
        {
            "test_accuracy": (
                ("symmetrize", "K", "lam"),
                np.linspace(0.5, 1, 6 * size).reshape(2, 3, -1),
            ),
            "bayes_optimal": ("lam", np.linspace(0.5, 1.0, size)),
        },
        {"symmetrize": [0, 1], "K": list(best.FEW), "lam": best.SIGNALS},
    )
    canvas = picture(find("introduction"), dataset)
    (panel,) = canvas.axes
    _check_filled(find("introduction"), panel)
    lines = {line.get_label(): line for line in panel.lines}
    assert np.array_equal(lines.pop("best any algorithm can do").get_ydata(), dataset.bayes_optimal)
    assert len(lines) == 6
    for K, layers in (("1", "1"), ("2", "2"), ("inf", r"\infty")):
        for symmetrize, style, words in ((1, "-", ", symmetrized"), (0, "--", "")):
            line = lines[f"depth ${layers}${words}"]
            numbers = dataset.test_accuracy.sel(K=K, symmetrize=symmetrize)
            assert np.array_equal(line.get_ydata(), numbers)
            assert line.get_linestyle() == style


@pytest.mark.parametrize("layers", ["1", "inf"])
def test_each_network_is_at_its_best(layers):
    """No filter of the family on a grid, at no regularization, is better, and the best of the grid is nearly as good."""
    csbm = gl.CSBM(best.ALPHA, 1.0, 2.0, best.RHO)
    grid = np.linspace(0.1, 3.0, 9)
    family = gl.Diffusion(grid) if layers == "inf" else gl.Residual(grid[:, None])
    network = gl.GCN(family, reg=np.array([[10.0], [np.inf]]), symmetrize=True)
    others = gl.predict(csbm, network).test_accuracy
    assert 0.0 <= best.best(csbm, layers, symmetrize=True) - others.max() < 2e-3


@pytest.mark.parametrize("name", ["diffusion-symmetrized", "symmetry", "train-error"])
def test_dots_stand_on_the_curves(name, monkeypatch):
    """The theory at the dots is the curve that is drawn, at each signal, depth and regularization."""
    figure, dataset = find(name), data(name)
    module = diffusion if name.startswith("diffusion") else strength
    monkeypatch.setattr(module, "DOTS", (1.25 if module is diffusion else 1.0,))
    monkeypatch.setattr(diffusion, "REG", (1.0, np.inf))
    with ThreadPoolExecutor(1) as executor:
        dots = figure.dots(dataset, Simulation(nodes=60, degree=20.0, trials=2, executor=executor))
    quantity = "train_loss" if name == "train-error" else "test_accuracy"
    at_dot = {"solved": 1.25} if module is diffusion else {"c": 1.0}
    curves = dataset[quantity].sel(at_dot | {"reg": dots.reg})
    predicted = dots[f"{quantity}_predicted"].isel(dot=0).transpose(*curves.dims)
    np.testing.assert_allclose(predicted, curves, rtol=1e-6)


def verdicts(claims, dataset):
    return [claim.holds for claim in claims(dataset)]


def test_a_statement_can_fail():
    rising = data("depth")
    assert verdicts(depth.statements, rising) == [True, True, True]
    assert not verdicts(depth.statements, rising.assign(test_accuracy=-rising.test_accuracy))[0]
    assert not verdicts(depth.statements, rising.assign(pca=rising.pca + 0.1))[2]
    rates = data("learning-rates")
    assert not verdicts(best.rate_statements, rates.assign(rate=rates.rate / 2))[2]
    times = data("optimal-time")
    assert not verdicts(best.time_statements, times.assign(best_t=times.best_t + depth.LONGEST))[1]
    assert not verdicts(best.time_statements, times.assign(best_t=times.best_t + times.lam * 10))[3]
    assert not verdicts(best.gap_statements, data("gap").assign(gap=lambda d: d.gap - 0.1))[0]


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in COARSE])
def test_the_page_states_the_numbers_that_are_computed(name):
    """Statement by statement; differences below a millionth are rounding, or the tolerance of a search."""

    def numbers(row):
        return [float(text) for text in re.findall(r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?", row)]

    page = (ROOT / "docs" / "reference" / "gallery.md").read_text()
    table = page.split("| figure | statement |")[1].split("\n\n")[0].splitlines()
    told = [row for row in table if row.startswith(f"| {name} |")]
    for row, claim in zip(told, statements({name: data(name)}), strict=True):
        made = f"| {' | '.join(claim.values())} |"
        assert re.split(r"[-+\d]", row)[0] == re.split(r"[-+\d]", made)[0]
        assert numbers(made) == pytest.approx(numbers(row), rel=1e-9, abs=1e-6)


MEANS = {
    "residual-strength": {
        "test_accuracy": 0.791742895,
        "pair_accuracy": 0.82251725,
        "bayes_optimal": 0.949615679,
    },
    "learning-rates": {"log_test_error": -5.73541573, "bayes_optimal": -9.40060606},
    "depth": {"test_accuracy": 0.739246825, "pca": 0.684111881, "bayes_optimal": 0.868732656},
    "diffusion-directed": {"limit": 0.787759105, "test_accuracy": 0.751653569},
    "diffusion-symmetrized": {"limit": 0.841133223, "test_accuracy": 0.787661148},
    "diffusion-depth": {"test_accuracy": 0.794327218, "bayes_optimal": 0.906537886},
    "optimal-time": {"test_accuracy": 0.850461603, "bayes_optimal": 0.90159588},
    "gap": {"gap": 0.0311727104, "snr": 5.01121795},
    "symmetry": {"test_accuracy": 0.851613951},
    "train-error": {"train_loss": 0.17412061},
}
"""Over all points of a figure, of the settings of the paper."""


@pytest.mark.parametrize("name", MEANS)
def test_a_figure_has_the_settings_of_the_paper(name):
    """Another signal, depth, regularization or grid has another mean."""
    found = {quantity: float(data(name)[quantity].mean()) for quantity in MEANS[name]}
    assert found == pytest.approx(MEANS[name], rel=1e-7)


def test_rates_are_the_slopes_of_the_curves():
    """The rates, taken far away, are where the slopes of the drawn curves go."""
    dataset = data("learning-rates")
    slope = -dataset.log_test_error.diff("lam").isel(lam=-1) / (dataset.lam**2).diff("lam").isel(
        lam=-1
    )
    np.testing.assert_allclose(slope.transpose(*dataset.rate.dims), dataset.rate, atol=0.06)


def test_a_file_gives_the_same_picture_again_and_is_refused_by_another_figure(tmp_path):
    figure = find("depth")
    numbers, drawing = write(figure, data("depth"), tmp_path)
    _, redrawn = write(figure, read(figure, numbers), tmp_path / "again")
    assert drawing.read_bytes() == redrawn.read_bytes()
    with pytest.raises(ParameterError, match="holds the figure depth, not gap"):
        read(find("gap"), numbers)
    with pytest.raises(ParameterError, match="there is no file"):
        read(figure, tmp_path / "nowhere.nc")
    (tmp_path / "text.nc").write_text("not numbers")
    with pytest.raises(ParameterError, match="cannot be read"):
        read(figure, tmp_path / "text.nc")


def test_an_unknown_figure_is_refused():
    with pytest.raises(ParameterError, match="choose one of introduction"):
        find("fig7")
