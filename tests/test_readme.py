"""The README's first example gives the numbers it shows."""

import re

import numpy as np
import pytest
from reference import ROOT

import gcnlimit as gl

README = (ROOT / "README.md").read_text()


def test_the_first_example_is_true():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    scope = {}
    exec(code.split("s = gl.simulate")[0], scope)  # the simulation has tests of its own
    data, gcn, best, deep = (scope[name] for name in ("data", "gcn", "best", "deep"))
    shown = [float(x) for x in re.findall(r"0\.\d{5}(?!\d)", code.split("s = gl.simulate")[0])]
    found = [
        gl.predict(data, gcn).test_accuracy,
        gl.bayes_optimal(data).test_accuracy,
        best.prediction.test_accuracy,
        gl.best_filter(data, order=12).prediction.test_accuracy,
        *gl.predict(data, deep).test_accuracy,
    ]
    assert np.allclose(found, shown, rtol=0, atol=5.1e-6)
    assert best.gcn.filter.t == pytest.approx(1.4878, abs=5e-5)


def test_its_links_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target
