"""Make the mathematics font of the site from Latin Modern Math: the characters that formulas use, under a name of its own.

Needs fonttools and brotli, and the font (latinmodern-math.otf, version 1.959, from CTAN or the Debian package fonts-lmodern)::

    python docs/scripts/math_font.py latinmodern-math.otf docs/_static/fonts/gcnlimit-math.woff2
"""

import sys

from fontTools.subset import Options, Subsetter, parse_unicodes
from fontTools.ttLib import TTFont

NAME = "gcnlimit Math"  # the licence asks that modified fonts are renamed
CHARACTERS = (
    "0020-007E,00A0-00FF,0131,0237,0300-0338,0370-03FF,2010-2044,2057,20D0-20DC,2100-214F,2190-21FF,2200-22FF,2308-230B,"
    "239B-23AE,23DC-23E1,27E6-27EF,27F5-27FA,1D400-1D467,1D49C-1D4CF,1D538-1D56B,1D6A4-1D6A5,1D6A8-1D71B,1D7CE-1D7D7"
)


def main(source: str, target: str) -> None:
    """Subset the font, rename it and compress it."""
    font = TTFont(source)
    options = Options(layout_features=["*"], drop_tables=["FFTM", "DSIG"], name_IDs=["*"])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=parse_unicodes(CHARACTERS))
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in {1, 3, 4, 16}:
            record.string = NAME
        elif record.nameID == 6:
            record.string = NAME.replace(" ", "-")
    font["CFF "].cff.fontNames[0] = NAME.replace(" ", "-")
    font.flavor = "woff2"
    font.save(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
