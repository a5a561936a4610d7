"""The dictionary of symbols and the numbers of equations: every name exists, every citation has its equation."""

import importlib
import inspect
import itertools
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
_PAGES = (
    "learn/theory.md",
    "learn/classes.md",
    "learn/finite-degree.md",
    "learn/transfer.md",
    "learn/degrees.md",
    "learn/linear.md",
    "learn/training.md",
    "learn/calibration.md",
)
THEORY = "".join((DOCS / page).read_text() for page in _PAGES)
EQUATIONS = [
    tuple(map(int, found)) for found in re.findall(r"^\(eq-(\d+)-(\d+)\)=$", THEORY, re.MULTILINE)
]
CITATION = re.compile(r"\bEqs?\.\s(\d+\.\d+(?:(?:,|\sand|\sto)\s\d+\.\d+)*)")


def rows():
    """Code names of each row of the dictionary, and the objects that carry them."""
    text = (DOCS / "reference" / "notation.md").read_text()
    for cells in (line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")):
        symbol, code, where = cells[0], cells[1], cells[-1]
        if places := re.findall(r"\{py:\w+\}`~([\w.]+)`", where):
            yield symbol, re.findall(r"`(\w+)`", code), places


def resolve(path):
    """Object at a dotted path, from the longest part of it that is a module."""
    names = path.split(".")
    for length in range(len(names), 0, -1):
        try:
            item = importlib.import_module(".".join(names[:length]))
        except ModuleNotFoundError:
            continue
        for name in names[length:]:
            item = getattr(item, name)
        return item
    raise ModuleNotFoundError(path)


def carries(item, name):
    """Whether a name is an attribute or a field of an object, or a function or a parameter of it."""
    if hasattr(item, name) or name in getattr(item, "__dataclass_fields__", {}):
        return True
    return inspect.isfunction(item) and name in [item.__name__, *inspect.signature(item).parameters]


def cited(text):
    return [number for found in CITATION.findall(text) for number in re.findall(r"\d+\.\d+", found)]


def test_names_of_the_dictionary_exist_where_it_says():
    for symbol, names, places in rows():
        items = [resolve(place) for place in places]
        assert all(any(carries(item, name) for item in items) for name in names), symbol
        assert not names or all(any(carries(item, name) for name in names) for item in items), (
            symbol
        )


def test_displayed_equations_are_numbered_without_gaps():
    for section, group in itertools.groupby(EQUATIONS, key=lambda equation: equation[0]):
        numbers = [number for _, number in group]
        assert numbers == list(range(1, len(numbers) + 1)), f"section {section}"
    assert 2 * len(EQUATIONS) == len(re.findall(r"^\$\$", THEORY, re.MULTILINE))


def test_equations_cited_in_the_code_exist():
    known = {f"{section}.{number}" for section, number in EQUATIONS}
    found = {str(path): cited(path.read_text()) for path in (ROOT / "src").rglob("*.py")}
    assert sum(map(len, found.values())) > 40
    assert {
        path: set(numbers) - known for path, numbers in found.items() if set(numbers) - known
    } == {}


def test_links_to_equations_show_the_number_that_they_lead_to():
    for page in DOCS.rglob("*.md"):
        links = re.findall(r"\[\((\d+)\.(\d+)\)\]\([^)#]*#eq-(\d+)-(\d+)\)", page.read_text())
        assert all(shown == target for *shown, a, b in links for target in [[a, b]]), page
        assert {(int(a), int(b)) for *_, a, b in links} <= set(EQUATIONS), page
