"""Scripts behind the pages run: each in its smallest setting, on a copy, so that no page or picture changes."""

import importlib
import shutil
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from reference import ROOT

import gcnlimit as gl

SCRIPTS = ROOT / "docs" / "scripts"


def best_filter(script, folder):
    script.SETTINGS, script.SIGNALS = script.SETTINGS[:1], (1.0,)
    script.settings()
    script.sample(2)
    script.roots(2)
    script.simulate(2)
    script.simulate_any_reg(2)
    script.figure(folder / "images" / "best.png")


def best_linear(script, folder):
    script.NODES, script.GRAPHS = 300, 2
    for directed in (True, False):
        script.decomposition(directed, count=30)
    script.many_classes()
    script.figure()
    script.graphs()


def degree_law(script, folder):
    script.SEEDS = range(2)
    script.free_entropies(gl.CSBM(4, 1.0, 2.0, 0.1), 10)
    assert script.law(gl.CSBM(4, 1.0, 2.0, 0.1), 10, draws=1000) > 0.0


def depth(script, folder):
    script.functions(nodes=400, trials=2)
    for step in ("discretization", "residuals", "oversmoothing", "convergence", "rates"):
        getattr(script, step)()
    axes = Figure().subplots()
    script._above(axes, gl.CSBM(4, 1.5, 3.0, 0.1), 0.0, 0, "directed")
    dots, law = (np.log(line.get_ydata()[4:]) for line in axes.lines)
    np.testing.assert_allclose(dots, law, atol=0.5)


def finite_reg(script, folder):
    script.LOSSES = ("square",)
    script.FAMILIES = {"diffusion": script.FAMILIES["diffusion"]}
    script.fixed_filter()
    script.joint()
    script.ceiling_map(folder / "images" / "map.png", rhos=(0.02, 0.1))
    script.share_of_the_gap(2)


def normalizations(script, folder):
    script.SIGNALS, script.LAWS = np.array([0.6, 1.2]), dict(list(script.LAWS.items())[:1])
    script.main(2)


def training(script, folder):
    script.time(2)
    script.sure(2)
    script.networks()
    script.seconds(1)


def benchmark(script, folder):
    script.IMAGES, script.TABLES = folder / "images", folder
    script.problem_table(gl.benchmark.problems())
    study = gl.benchmark.Scores.load(ROOT / "benchmarks" / "gnn" / "study.json")
    script.study_table(study)
    script.published(study)
    script.places(study)


def pictures(script, folder):
    script.TEXAS = ROOT / "examples" / "data" / "texas.npz"
    script.draw(str(folder / "images"))


def real_graphs(script, folder):
    script.ROOT = folder.parent
    (folder.parent / "examples").symlink_to(ROOT / "examples")
    script.main()


def gallery(script, folder):
    """Its text and that of the section at the paper's size: the pictures are those of `gcnlimit reproduce`."""
    for figure in script.FIGURES.values():
        assert script._text(figure.data)


def supported(script, folder):
    page = (ROOT / "docs" / "reference" / "supported.md").read_text(encoding="utf-8")
    assert script.printed(page) == page


CASES = {
    run.__name__: run
    for run in (
        best_filter,
        best_linear,
        degree_law,
        depth,
        finite_reg,
        normalizations,
        training,
        benchmark,
        pictures,
        real_graphs,
        gallery,
        supported,
    )
}
UNRUN = {"math_font", "reproduce_full"}  # of a font that is not here; hours


def test_every_script_is_here():
    assert {script.stem for script in SCRIPTS.glob("*.py")} == CASES.keys() | UNRUN


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_script_runs(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("agg")
    folder = tmp_path / "docs"
    shutil.copytree(SCRIPTS, folder / "scripts")
    (folder / "images").mkdir()
    monkeypatch.syspath_prepend(folder / "scripts")
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setattr(sys, "argv", [name])
    monkeypatch.delitem(sys.modules, name, raising=False)
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "docs").rglob("*")}
    script = importlib.import_module(name)
    try:
        CASES[name](script, folder)
    finally:
        for imported in (name, "best_filter"):
            sys.modules.pop(imported, None)
    assert {path: path.stat().st_mtime_ns for path in before} == before
