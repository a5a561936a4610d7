"""Write docs/reproduce-full.md: every figure, its dots as many and as large as in the paper, in numbers.

Run from the root of the project: ``python docs/scripts/reproduce_full.py FOLDER [DEVICE]``. It computes what ``gcnlimit reproduce
--full`` does, draws nothing, and resumes from the dots in the folder.
"""

import sys
from dataclasses import replace
from pathlib import Path

from gcnlimit._version import __version__
from gcnlimit.figures.base import FULL
from gcnlimit.figures.registry import FIGURES, produce, write_agreement

PAGE = Path("docs") / "reproduce-full.md"
HEAD = """# Every dot at the paper's size

`gcnlimit reproduce --full` measures each dot of the figures on {trials} graphs of {nodes} nodes; `--device cuda` does it on a
graphics card. Version {version} gave the tables below, by `python docs/scripts/reproduce_full.py FOLDER {device}`.
Distances to the theory are in standard errors; the [gallery](gallery.md) says how they, and the words of the statements,
are read. Standard errors are 2.6 times as small as those of the quick run. Scatter alone gives a mean of 0.8; what
exceeds it comes from the [finite degree](how-large-degree.md) and number of nodes.

"""


def main(folder: Path, device: str = "cpu") -> None:
    """Compute the dots; write the page."""
    figures = produce(list(FIGURES.values()), folder, replace(FULL, device=device))
    write_agreement({figure.name: dataset for figure, dataset in figures}, folder)
    tables = (folder / "agreement.md").read_text(encoding="utf-8")
    head = HEAD.format(nodes=FULL.nodes, trials=FULL.trials, version=__version__, device=device)
    PAGE.write_text(head + tables, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
