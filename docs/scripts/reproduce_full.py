"""Write the last section of docs/reference/gallery.md: the dots of every figure at the paper's size, in numbers.

Run from the root of the project: ``python docs/scripts/reproduce_full.py FOLDER [DEVICE]``. It computes what ``gcnlimit reproduce
--full`` does, draws nothing, and resumes from the dots in the folder.
"""

import sys
from dataclasses import replace
from pathlib import Path

from gcnlimit._version import __version__
from gcnlimit.figures.base import FULL
from gcnlimit.figures.registry import FIGURES, produce, write_agreement

PAGE = Path("docs") / "reference" / "gallery.md"
SECTION = "## Every dot at the paper's size"
TEXT = """

`gcnlimit reproduce --full` measures each dot on {trials} graphs of {nodes} nodes; `--device cuda` does it on a GPU.
Version {version} gave the table below (`python docs/scripts/reproduce_full.py FOLDER {device}`).
Scatter alone would give a mean $|z|$ of 0.8; \
the excess comes from the [finite degree](../findings/degree.md) and the finite number of nodes.

"""


def main(folder: Path, device: str = "cpu") -> None:
    """Compute the dots; write the section."""
    figures = produce(list(FIGURES.values()), folder, replace(FULL, device=device))
    write_agreement({figure.name: dataset for figure, dataset in figures}, folder)
    table = (
        (folder / "agreement.md").read_text(encoding="utf-8").partition("| figure | statement")[0]
    )
    text = TEXT.format(nodes=FULL.nodes, trials=FULL.trials, version=__version__, device=device)
    PAGE.write_text(
        PAGE.read_text(encoding="utf-8").partition(SECTION)[0] + SECTION + text + table,
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
