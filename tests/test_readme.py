"""The README's examples give the numbers that stand beside them."""

import re

import pytest
from reference import ROOT

README = (ROOT / "README.md").read_text()
SHOWN = re.compile(r"^(\S.*?)  # (0\.(\d+)).*", re.MULTILINE)
EXAMPLES = dict(re.findall(r"## ([^\n]*)\n\n```python\n(.*?)```", README, re.DOTALL))


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_gives_what_it_shows(title, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, scope = EXAMPLES[title], {}
    exec(SHOWN.sub("", code), scope)
    for expression, value, digits in SHOWN.findall(code):
        assert eval(expression, scope) == pytest.approx(
            float(value), abs=0.51 * 10.0 ** -len(digits)
        ), expression
