"""Heterogeneous degrees: networks under any normalisation, their spectrum, and the ceiling."""
