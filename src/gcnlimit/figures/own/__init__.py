"""Figures of the project's own results, on the page "More than two classes"."""
