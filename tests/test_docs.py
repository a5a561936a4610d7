"""The documentation: what it shows is what the library prints, and the site builds without a warning."""

import doctest
import importlib
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

import gcnlimit as gl
from gcnlimit.cli.app import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md"))]
OUTSIDE = [
    *ROOT.glob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
ENVIRONMENT = os.environ | {
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
}

SLOW = {
    "add-a-loss-or-filter",
    "choose-a-network",
    "classes",
    "degree",
    "errata",
    "finite-degree",
    "pagerank-to-deploy",
    "real-graphs",
}
SLOW |= {"which-normalization"}
SLOW_EXAMPLES = ("theory_meets_simulation", "compare_networks")


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def sessions():
    """Pages with Python to run."""
    for page in PAGES:
        if blocks(page, "pycon"):
            yield pytest.param(
                page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else []
            )


def commands(page):
    """Commands of a page, each with the output shown."""
    for block in blocks(page, "console"):
        for command, shown in re.findall(
            r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE
        ):
            slow = [pytest.mark.slow] if any(name in command for name in SLOW_EXAMPLES) else []
            yield pytest.param(command, shown, id=command[:40], marks=slow)


@pytest.mark.parametrize("page", list(sessions()))
def test_python_gives_what_is_shown(page):
    session = doctest.DocTestParser().get_doctest(
        "\n".join(blocks(page, "pycon")), {}, page.name, str(page), 0
    )
    report = []
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
        session, out=report.append
    )
    assert outcome.failed == 0, "".join(report)


@pytest.mark.parametrize("command, shown", [c for page in PAGES for c in commands(page)])
def test_commands_print_what_is_shown(command, shown, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    if program == "gcnlimit":
        printed = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
    else:
        run = runpy.run_path
        if arguments[0] == "-m":
            run = runpy.run_module
            monkeypatch.delitem(
                sys.modules, arguments[1], raising=False
            )  # as in a process of its own
            arguments = arguments[1:]
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.syspath_prepend(ROOT)
        run(arguments[0], run_name="__main__")
        printed = capsys.readouterr().out
    assert printed.split() == shown.split()


def test_every_public_name_has_its_page():
    """The lists of the reference make a page of each name."""
    reference = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"^   gcnlimit\.([\w.]+)$", reference, re.MULTILINE))
    names = ("benchmark", "depth", "filters", "losses", "real", "results", "theory")
    spaces = {name: importlib.import_module(f"gcnlimit.{name}") for name in names}
    spaces["limits"] = gl.limits
    public = {
        f"{space}.{name}"
        for space, module in spaces.items()
        for name in set(module.__all__) - set(gl.__all__)
    }
    for space, file in {"nn": "nn/__init__.py", "pyg": "pyg.py"}.items():  # these need PyTorch
        source = (ROOT / "src/gcnlimit" / file).read_text()
        (names,) = re.findall(r"^__all__ = \[(.*?)\]", source, re.DOTALL | re.MULTILINE)
        public |= {f"{space}.{name}" for name in re.findall(r'"(\w+)"', names)}
    elsewhere = {"__version__", "benchmark.SIZES", "benchmark.VERSION", "depth.resolvents"}
    assert (set(gl.__all__) | public) - documented <= elsewhere | spaces.keys()


def links(text):
    """Targets of a page in Markdown or HTML, without those of other places."""
    found = re.findall(r"""\]\(([^)\s]+)\)|\b(?:src|href)=["']([^"']+)["']""", text)
    return [unquote(a or b) for a, b in found if not re.match(r"[a-z]+:|//", a or b)]


@pytest.mark.parametrize("page", [*PAGES, *OUTSIDE], ids=lambda page: page.stem)
def test_lines_of_text_are_at_most_200_columns_long(page):
    """Those of tables, code and formulas may be longer."""
    text = re.sub(r"^(```|\$\$).*?^\1", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "    ", "$$"))]
    assert [line for line in lines if len(line) > 200] == []


def test_links_outside_of_the_site_lead_somewhere():
    targets = [(page, target) for page in OUTSIDE for target in links(page.read_text())]
    assert [
        (page.name, t) for page, t in targets if not (page.parent / t.partition("#")[0]).exists()
    ] == []


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(build, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return {page.relative_to(folder): page.read_text() for page in folder.rglob("*.html")}, folder


@pytest.mark.slow
def test_the_site_fetches_nothing_and_its_links_lead_somewhere(site):
    pages, folder = site
    named = {
        page: {*re.findall(r'\bid="([^"]+)"', text), "", "top"} for page, text in pages.items()
    }
    for page, text in pages.items():
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text)
        for target in links(text):
            file, _, anchor = target.partition("#")
            path = Path(os.path.normpath(page.parent / file.partition("?")[0])) if file else page
            assert (folder / path).exists(), f"{page}: {target}"
            assert anchor in named.get(path, {anchor}), f"{page}: {target}"
    assert pages[Path("learn/theory.html")].count("<math ") > 100
    assert {"predict", "nn.MessagePassing"} <= {p.stem[9:] for p in pages if p.parent.stem == "api"}


FINDINGS = [page for page in sorted((DOCS / "findings").glob("*.md")) if page.stem != "index"]


@pytest.mark.parametrize("page", FINDINGS, ids=lambda page: page.stem)
def test_a_finding_says_what_it_claims_on_what_grounds_and_what_was_known(page):
    box = page.read_text().partition(":::{container} finding\n")[2].partition("\n:::")[0]
    terms = re.findall(r"^([A-Z].*)\n: ", box, flags=re.MULTILINE)
    assert terms == [
        "Claim",
        "Evidence",
        "Command",
        "Scope",
        "Known before",
        "Added here",
        "Does not say",
    ]


def test_the_page_of_what_is_supported_is_printed_from_the_table_of_the_library():
    page = (DOCS / "reference" / "supported.md").read_text()
    assert runpy.run_path(str(DOCS / "scripts" / "supported.py"))["printed"](page) == page
    assert page.count("\n| ") > 80


def test_the_claim_on_real_graphs_follows_from_its_table():
    """By how much the average leads the best tuned network, with and without the validation labels."""
    scores = {}
    for key, run in json.loads((ROOT / "benchmarks" / "real_graphs.json").read_text()).items():
        graph, method, _ = key.split("/")
        scores.setdefault((graph, method), []).append(run["score"])
    mean = {key: sum(each) / len(each) for key, each in scores.items()}
    graphs = {graph for graph, _ in mean}
    best = {
        g: max(mean[g, m] for graph, m in mean if graph == g and m.endswith(", tuned"))
        for g in graphs
    }
    same = [mean[g, "default, validation too"] - best[g] for g in graphs]
    lead = {g: mean[g, "default"] - best[g] for g in graphs}
    ahead = [points for points in lead.values() if points > 0.1]
    claim = (DOCS / "findings" / "real-graphs.md").read_text().partition("Evidence\n")[0]
    assert (
        f"on each of fourteen public graphs, by {min(same):.1f} to {max(same):.1f} points" in claim
    )
    assert (len(graphs), len(ahead)) == (14, 11)
    assert f"ahead on eleven graphs, by {min(ahead):.1f} to {max(ahead):.1f} points" in claim
    assert {graph for graph in graphs if abs(lead[graph]) <= 0.1} == {"amazon_photo", "polblogs"}
    assert f"on dblp the best network leads by {-lead['dblp']:.1f}" in claim
