"""Exact answers in the large-size limit."""

from gcnlimit.theory.expansion import large_reg_expansion
from gcnlimit.theory.finite_reg.free_entropy import free_entropy

__all__ = ["free_entropy", "large_reg_expansion"]
