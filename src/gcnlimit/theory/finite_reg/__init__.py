"""Finite regularization: the self-consistent equations, one module for each kind of graph, and their solution."""
