"""The verbs figure and reproduce."""

import pytest
from helpers import run

from gcnlimit.figures import registry


def test_the_list_names_every_figure():
    answer = run("figure", "--list")
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.output.splitlines()] == list(registry.FIGURES)


def test_a_figure_is_drawn_and_redrawn_from_its_numbers(tmp_path):
    assert run("figure", "depth", "--out", tmp_path).exit_code == 0
    answer = run(
        "figure",
        "depth",
        "--data",
        tmp_path / "depth.nc",
        "--format",
        "svg",
        "--out",
        tmp_path / "again",
    )
    assert answer.exit_code == 0
    assert (tmp_path / "again" / "depth.svg").stat().st_size > 1000


def test_bad_input_is_one_sentence(tmp_path):
    (tmp_path / "text.nc").write_text("no numbers")
    for words in (
        ("fig7",),
        (),
        ("symmetry", "--trials", 1),
        ("symmetry", "--nodes", 20, "--out", tmp_path),
        ("depth", "--data", tmp_path / "text.nc"),
        ("depth", "--out", tmp_path / "text.nc"),
    ):
        answer = run("figure", *words, *(["--format", "png"] if not words else []))
        assert answer.exit_code == 2
        assert "Traceback" not in answer.output


@pytest.mark.slow
def test_everything_is_reproduced_with_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(
        registry, "FIGURES", {name: registry.FIGURES[name] for name in ("depth", "symmetry")}
    )
    answer = run("reproduce", "--trials", 0, "--out", tmp_path)
    assert answer.exit_code == 0, answer.output
    assert "2 figures" in answer.output
    names = {path.name for path in tmp_path.iterdir()}
    assert {"depth.png", "depth.nc", "symmetry.png", "agreement.md"} <= names
