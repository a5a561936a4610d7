"""Choosing a network: tuned parameters, best filters over all functions, comparison of families."""
