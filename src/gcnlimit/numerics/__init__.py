"""Numerical tools that know nothing of graphs."""
