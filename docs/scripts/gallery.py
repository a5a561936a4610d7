"""Write docs/reference/gallery.md and its pictures from a folder that ``gcnlimit reproduce`` made.

Run from the root of the project: ``python docs/scripts/gallery.py figures``. What each figure shows, and what was chosen in
it, is said by the function that computes it; this page only gathers it. The section that ``reproduce_full.py`` writes is kept.
"""

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

from gcnlimit.figures.registry import FIGURES, read
from gcnlimit.figures.style import picture

PAGE = Path("docs") / "reference" / "gallery.md"
LAST_SECTION = "## Every dot at the paper's size"
HEAD = """# Gallery: every figure of the paper

One command draws all figures of *Statistical physics analysis of graph neural networks:
approaching optimality in the contextual stochastic block model* (Duranthon and Zdeborová, [arXiv:2503.01361](https://arxiv.org/abs/2503.01361)):

```
gcnlimit reproduce --out figures          # theory in full, dots at {nodes} nodes and {trials} graphs each: minutes
gcnlimit reproduce --full --out figures   # dots at 10 000 nodes and ten graphs each: hours, or minutes with --device cuda
```

Each picture comes with its numbers, a NetCDF file from which `gcnlimit figure NAME --data NAME.nc` draws it again.
Lines are exact predictions in the large-size limit.
Dots are networks trained on sampled graphs of mean degree 30, with one standard error.
The paper gives no numbers to compare with; where it does not state a parameter, ours is given below.
"""
AGREEMENT = """## How theory and simulation agree, and what the paper states

Distances of the dots from the theory are in standard errors: those of accuracies by the theory of their \
[scatter](../learn/transfer.md#eq-10-22), those of training errors from the trials.
The standard error of a few trials is itself uncertain, so Student's law turns these distances into normal deviates \
of the same probability.
Dots that differ only in the regularization share their graphs and are correlated.
We read the paper's words as follows: *little* is below 2 points of accuracy, *a few percent* below 5, \
*nearly optimal* within 0.2 points.

"""


def main(folder: Path) -> None:
    """Write the page and the pictures."""
    page: list[str] = []
    sizes: dict[str, int] = {}
    for name, figure in FIGURES.items():
        dataset = read(figure, folder / f"{name}.nc")
        sizes |= {key: dataset.attrs[key] for key in ("nodes", "trials") if key in dataset.attrs}
        picture(figure, dataset).savefig(PAGE.parents[1] / "images" / f"{name}.png", dpi=110)
        page.append(f"## {figure.title}\n\n![{figure.title}](../images/{name}.png)\n")
        page.append(f"```\ngcnlimit figure {name}\n```\n\n{_text(figure.data)}\n")
    agreement = AGREEMENT + (folder / "agreement.md").read_text(encoding="utf-8")
    kept = LAST_SECTION + PAGE.read_text(encoding="utf-8").partition(LAST_SECTION)[2]
    PAGE.write_text("\n".join([HEAD.format(**sizes), *page, agreement, kept]), encoding="utf-8")


def _text(data: Callable[[], object]) -> str:
    """What a function says of the numbers that it computes, in Markdown with one sentence per line."""
    text = (inspect.getdoc(getattr(data, "func", data)) or "").replace("``", "`")
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    joined = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    return re.sub(r"(?<=\.) (?=[A-Z$(])", "\n", joined)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
