"""Figures from outside the package: the one on the page about adding figures works as it is printed there."""

import re

import numpy as np
import pytest
from reference import ROOT

from gcnlimit import ParameterError
from gcnlimit.figures.base import Simulation
from gcnlimit.figures.registry import find, produce, read, write, z_scores

PAGE = (ROOT / "docs" / "how-to" / "add-a-figure.md").read_text()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pagerank.py"
    path.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1))
    return path


def test_the_figure_of_the_page_is_drawn_with_its_dots(file, tmp_path, monkeypatch):
    monkeypatch.setattr("gcnlimit.figures.registry.cores", lambda: 1)  # one process to start
    figure = find(str(file))
    ((_, dataset),) = produce([figure], tmp_path, Simulation(nodes=400, trials=4))
    assert np.all(np.abs(z_scores(dataset)) < 4)
    assert dataset.test_accuracy_simulated.dims == ("lam", "dot")
    assert all(statement.holds for statement in figure.statements(dataset))
    numbers, drawing = write(figure, dataset, tmp_path)
    assert read(figure, numbers).drop_attrs().identical(dataset.drop_attrs())
    assert drawing.stat().st_size > 10_000


def test_a_file_without_a_figure_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("FIGURE = 1\n")
    with pytest.raises(ParameterError, match="defines no FIGURE"):
        find(str(tmp_path / "empty.py"))
    with pytest.raises(ParameterError, match="there is no file"):
        find(str(tmp_path / "missing.py"))
