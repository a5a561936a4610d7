"""Numerical tools, independent of graphs and networks."""
