"""What a result looks like: text, HTML, data frame, dataset and picture, the same for every result."""

from gcnlimit._display.labels import Labels
from gcnlimit._display.plot import draw_filter, draw_methods
from gcnlimit._display.shown import Shown, status_names

__all__ = ["Labels", "Shown", "draw_filter", "draw_methods", "status_names"]
