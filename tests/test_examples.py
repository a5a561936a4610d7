"""Each example answers its question, at a small size."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
CASES = [
    ("depth_helps", "", "depth helps, by up to 0.08"),
    ("depth_helps", "--lam 0.3", "one layer is enough"),
    ("depth_helps", "--lam 0.05", "the graph hardly helps"),
    ("how_many_layers", "", "8 layers with c = 3.65 are within 0.002"),
    ("how_many_layers", "--tolerance 1e-6", "more than 32 layers"),
    ("left_to_gain", "--points 3", "most is left at lam = 0.00, mu = 4.00: 8.8 points"),
    ("near_the_ceiling", "--nodes 1000", "points of accuracy to gain"),
    ("classify_a_graph", "", "neighbours are unlike each other (pagerank, strength -0.50)"),
    ("does_the_model_hold", "", "the model does not hold; leave-one-out takes pagerank of strength -0.50"),
    ("theory_meets_simulation", "--nodes 1000 --trials 3", "theory and simulation agree"),
]


@pytest.mark.parametrize("name, arguments, conclusion", CASES)
def test_conclusion(name, arguments, conclusion):
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert conclusion in done.stdout.splitlines()[-1], done.stdout


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_short_and_tested(example):
    assert len(example.read_text().splitlines()) <= 60
    assert example.stem in {name for name, _, _ in CASES}
