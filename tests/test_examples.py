"""Each example answers its question: its usual answer stands on a page, which is tested there; here the others."""

import json
import runpy
import subprocess
import sys

import pytest
from reference import ROOT

EXAMPLES = ROOT / "examples"
PAGES = "".join(
    page.read_text() for page in [EXAMPLES / "README.md", *(ROOT / "docs" / "how-to").glob("*.md")]
)
CASES = [
    ("depth_helps", "--lam 0.3", "one layer is enough"),
    ("depth_helps", "--lam 0.05", "the graph hardly helps"),
    ("how_many_layers", "--tolerance 1e-6", "more than 32 layers"),
    ("benchmark_a_pyg_network", "--graphs 1", "of accuracy is left to gain"),
]


@pytest.mark.filterwarnings(
    "ignore:`torch.jit.script`:DeprecationWarning"
)  # what PyTorch Geometric itself calls
@pytest.mark.parametrize("name, arguments, conclusion", CASES)
def test_conclusion(name, arguments, conclusion, monkeypatch, capsys, tmp_path):  # noqa: PLR0917
    if name == "benchmark_a_pyg_network":
        pytest.importorskip("torch_geometric")
    monkeypatch.setattr(sys, "argv", [name, *arguments.split()])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert conclusion in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.slow
def test_a_sweep_in_two_processes_prints_what_is_shown():
    pytest.importorskip("distributed", exc_type=ImportError)
    script = EXAMPLES / "sweep_on_a_cluster.py"
    printed = subprocess.check_output(
        [sys.executable, script], cwd=ROOT, text=True, stderr=subprocess.DEVNULL
    )
    assert printed in (EXAMPLES / "README.md").read_text()


def test_short_and_shown():
    for example in EXAMPLES.glob("*.py"):
        assert len(example.read_text().splitlines()) <= 80, example
        assert f"python examples/{example.name}" in PAGES, example


@pytest.mark.slow
def test_the_notebook_runs(monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(EXAMPLES)
    cells = json.loads((EXAMPLES / "tutorial.ipynb").read_text())["cells"]
    exec("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), {})
