"""Exact answers in the large-size limit."""
