"""Write docs/reproduce-full.md: every figure, its dots as many and as large as in the paper, in numbers.

Run from the root of the project: ``python docs/scripts/reproduce_full.py figures-full``. It computes what ``gcnlimit reproduce
--full`` does, draws nothing, and resumes from the dots in the folder. Names of figures after the folder compute the dots of these
and write no page: several such programs may work on one folder at once.
"""

import sys
from pathlib import Path

from gcnlimit._version import __version__
from gcnlimit.figures.agreement import write_agreement
from gcnlimit.figures.dots import FULL
from gcnlimit.figures.produce import produce
from gcnlimit.figures.registry import FIGURES, find

PAGE = Path("docs") / "reproduce-full.md"
HEAD = """# Every dot at the paper's size

`gcnlimit reproduce --full` measures each dot of the figures on {trials} graphs of {nodes} nodes. Version {version} gave the
tables below, written by `python docs/scripts/reproduce_full.py FOLDER`. Distances to the theory are in standard errors; the
[gallery](gallery.md) says how they, and the words of the statements, are read. At this size the theory is tested more
sharply than by the quick run, whose standard errors are 2.6 times as large.

"""


def main(folder: Path, names: list[str]) -> None:
    """Compute the dots; write the page if all figures are asked for."""
    figures = [find(name) for name in names or FIGURES]
    datasets = {figure.name: dataset for figure, dataset in produce(figures, folder, FULL)}
    if names:
        return
    write_agreement(datasets, folder)
    tables = (folder / "agreement.md").read_text(encoding="utf-8")
    PAGE.write_text(HEAD.format(nodes=FULL.nodes, trials=FULL.trials, version=__version__) + tables, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
