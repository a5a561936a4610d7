"""What holds the house together: the public names, the floors, and a core that needs NumPy and SciPy only."""

import ast
import functools
import inspect
import re
import subprocess
import sys
import tomllib

import pytest
from importlinter.cli import lint_imports
from reference import ROOT

import gcnlimit as gl

ACROSS_MODULES = """
architecture docs examples extremes files notation paper_map readme refusals scripts your_words
choose/classes choose/stopping cli/faults cli/real cli/streams explorer/browser graphs/doors
real/degenerate real/malformed real/public_graphs
simulation/classes simulation/degrees simulation/doors simulation/elsewhere
sweeps/cluster sweeps/survival theory/classes theory/noise
"""
"""Tests of no one module: laws of a whole room, of the pages, or of the package."""

BUDGET = {
    ".": (21, 3094),
    "_runtime": (6, 611),
    "benchmark": (8, 1534),
    "choose": (13, 2446),
    "cli": (18, 1787),
    "explorer": (11, 2554),
    "figures": (8, 1304),
    "filters": (6, 1111),
    "graphs": (15, 2979),
    "losses": (4, 747),
    "nn": (7, 838),
    "numerics": (14, 1805),
    "real": (13, 2500),
    "results": (8, 1210),
    "simulation": (26, 4808),
    "sweeps": (6, 1204),
    "theory": (53, 9987),
}
"""Modules and lines that each room may have, the root as ".": to raise one is a decision."""


@functools.cache
def syntax(path):
    """Every node of the syntax of a file."""
    return [*ast.walk(ast.parse(path.read_text()))]


def test_public_names_are_imported_when_first_used():
    """Those of the package and of its records; Python's own import is as it was."""
    code = (
        "import builtins; usual = builtins.__import__; import sys, gcnlimit as gl, gcnlimit.results; "
        "assert 'numpy' not in sys.modules and builtins.__import__ is usual; "
        "assert all(getattr(p, name) is not None for p in (gl, gl.results) for name in p.__all__)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert dir(gl) == sorted(gl.__all__)
    with pytest.raises(AttributeError, match="'gcnlimit' has no attribute 'predicted'"):
        _ = gl.predicted


def test_every_public_object_is_documented():
    for name in gl.__all__:
        if name != "__version__":
            assert getattr(gl, name).__doc__, name


def test_import_floors():
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml")) == 0


def test_core_needs_numpy_and_scipy_only():
    optional = [
        "click",
        "matplotlib",
        "xarray",
        "pandas",
        "distributed",
        "networkx",
        "h5py",
        "sklearn",
    ]
    code = f"import sys, gcnlimit; print([m for m in {optional!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_results_are_classes_that_are_found():
    assert all(inspect.isclass(getattr(gl.results, name)) for name in gl.results.__all__)


def test_code_is_within_the_ruler():
    """Formulas in docstrings may be wider; strings and comments, which no formatter breaks, are code."""
    columns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["line-length"]
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        strings = [
            n for n in syntax(path) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
        ]
        told = {line for node in strings for line in range(node.lineno, node.end_lineno + 1)}
        wide = [
            n
            for n, line in enumerate(text.splitlines(), 1)
            if len(line) > columns and n not in told
        ]
        assert not wide, f"{path.name}: lines {wide}"


def test_no_two_classes_have_one_name():
    """A name means one thing in the whole package."""
    homes = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in syntax(path):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.name)
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert not twice


def test_the_tree_of_the_contributing_page_is_that_of_the_package():
    """Every room and every file on the ground floor has its place there, and nothing else is named."""
    page = (ROOT / "CONTRIBUTING.md").read_text().split("src/gcnlimit/\n")[1].split("    tests/")[0]
    home = ROOT / "src" / "gcnlimit"
    rooms = {path.parent.name for path in home.glob("*/**/__init__.py")}
    files = {path.name for path in home.glob("*.py")} - {"__main__.py", "_version.py"}
    named = {word.rstrip("/,:;)") for word in re.findall(r"(?<![/\w])\w+/(?!\w)", page)}
    assert rooms <= named
    assert files <= set(re.findall(r"(?<![/\w])\w+\.py", page))
    for name in named:
        assert list(home.rglob(name)), name


def test_tests_mirror_the_modules():
    """tests/ROOM/test_NAME.py is about ROOM/NAME, a module or a room, or about the room NAME as a whole."""
    homes = {home: ROOT / home for home in ("benchmarks", "validation")}
    tests = {path.relative_to(ROOT / "tests"): path for path in (ROOT / "tests").rglob("test_*.py")}
    across = set(ACROSS_MODULES.split())
    for file in tests:
        name = file.stem.removeprefix("test_")
        room = ROOT / "src" / "gcnlimit" if file.parts[0] not in homes else ROOT
        modules = [
            file.with_name(f"{name}.py"),
            file.with_name(f"_{name}.py"),
            file.with_name(name),
        ]
        if file.parent.name == name:
            modules.append(file.parent)
        if (file.parent / name).as_posix() in across:
            across.remove((file.parent / name).as_posix())
        else:
            assert any((room / module).exists() for module in modules), f"{file}: no such module"
    assert not across


NEWER = {"cumulative_prod", "cumulative_sum", "matvec", "unstack", "vecmat"}
"""Functions of NumPy that its oldest supported version, 2.0, does not have."""


def test_nothing_needs_a_newer_numpy_than_is_asked_for():
    for folder in ("src", "tests", "validation"):
        for path in (ROOT / folder).rglob("*.py"):
            used = set(re.findall(r"\.(\w+)", path.read_text()))
            assert not used & NEWER, f"{path}: {used & NEWER}"


CHANGING = {"Bar", "Ensemble", "TrialRun"}
"""Records that are filled while something runs."""

PLAIN = """
Computation Exact Line LinearNode PaperFigure Producer Ranking Run Scores Simulation Size State
Statement _Trial
"""
"""Records of numbers and words alone, which are equal by content."""


def test_records_are_frozen_and_those_of_arrays_are_equal_to_themselves_alone():
    """To compare arrays field by field is an error of NumPy; values that are equal by content say so themselves."""
    compared, changing = set(), set()
    for path in (ROOT / "src" / "gcnlimit").rglob("*.py"):
        for record in syntax(path):
            for made in map(ast.unparse, getattr(record, "decorator_list", ())):
                if not made.startswith("dataclass"):
                    continue
                if "frozen=True" not in made:
                    changing.add(record.name)
                if "eq=False" not in made:
                    compared.add(record.name)
                    fields = [line for line in record.body if isinstance(line, ast.AnnAssign)]
                    named = " ".join(map(ast.unparse, fields))
                    assert not re.search(r"Array|Numbers|Parameter", named), record.name
    assert changing == CHANGING
    assert compared == {*PLAIN.split()}


UNEVEN = """
choose/search choose/tune figures/best figures/best figures/depth figures/diffusion figures/strength
figures/strength graphs/dataset graphs/table_files simulation/simulate theory/fluctuations
"""
"""Where the longer of two sequences may be cut: colours and markers of few curves, filters of which one may be absent."""


def test_sequences_that_are_paired_are_of_one_length():
    """Else a value that was forgotten would be left out of the answer without a word."""
    uneven = []
    for path in (ROOT / "src" / "gcnlimit").rglob("*.py"):
        for node in syntax(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
                strict = {word.arg: ast.unparse(word.value) for word in node.keywords}["strict"]
                if strict == "False":
                    home = path.relative_to(ROOT / "src" / "gcnlimit")
                    uneven.append(home.with_suffix("").as_posix())
    assert sorted(uneven) == UNEVEN.split()


def test_the_version_is_said_alike_everywhere():
    """Before a release it has the suffix rc, and the classifiers do not say more."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert cited == gl.__version__
    stable = "Development Status :: 5 - Production/Stable" in project["classifiers"]
    assert stable == bool(re.fullmatch(r"\d+\.\d+\.\d+", gl.__version__))


def test_rooms_stay_within_their_budget():
    """Growth is decided: a room has at most its modules and lines."""
    home = ROOT / "src" / "gcnlimit"
    rooms = {}
    for path in home.rglob("*.py"):
        room = path.relative_to(home).parts[0] if path.parent != home else "."
        modules, lines = rooms.get(room, (0, 0))
        rooms[room] = (modules + 1, lines + len(path.read_text().splitlines()))
    assert rooms.keys() == BUDGET.keys()
    for room, (modules, lines) in rooms.items():
        assert modules <= BUDGET[room][0], (
            f"{room}: {modules} modules; may it have more than {BUDGET[room][0]}?"
        )
        assert lines <= BUDGET[room][1], (
            f"{room}: {lines} lines; may it have more than {BUDGET[room][1]}?"
        )
