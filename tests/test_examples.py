"""Each example answers its question: its usual answer stands on a page, which is tested there; here the others."""

import subprocess
import sys

import pytest
from reference import ROOT

DEPRECATED = "ignore:`torch.jit.script`:DeprecationWarning"  # what PyTorch Geometric itself calls
EXAMPLES = ROOT / "examples"
PAGES = "".join(page.read_text() for page in sorted((ROOT / "docs" / "how-to").glob("*.md")))
CASES = [
    ("depth_helps", "--lam 0.3", "one layer is enough"),
    ("depth_helps", "--lam 0.05", "the graph hardly helps"),
    ("how_many_layers", "--tolerance 1e-6", "more than 32 layers"),
    ("benchmark_a_pyg_network", "--graphs 1", "of accuracy is left to gain"),
]


@pytest.mark.parametrize("name, arguments, conclusion", CASES)
def test_conclusion(name, arguments, conclusion):
    if name == "benchmark_a_pyg_network":
        pytest.importorskip("torch_geometric")
    command = [sys.executable, "-W", "error", "-W", DEPRECATED, str(EXAMPLES / f"{name}.py"), *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert conclusion in done.stdout.splitlines()[-1], done.stdout


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_short_and_shown(example):
    assert len(example.read_text().splitlines()) <= 60
    assert f"python examples/{example.name}" in PAGES
