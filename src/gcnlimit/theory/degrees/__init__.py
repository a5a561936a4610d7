"""Heterogeneous degrees: networks under any normalization, their spectrum, and the ceiling."""
