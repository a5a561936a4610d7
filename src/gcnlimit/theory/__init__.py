"""Exact answers in the large-size limit."""

from gcnlimit.theory.expansion import large_reg_expansion
from gcnlimit.theory.finite_degree import degree_correction
from gcnlimit.theory.finite_reg.free_entropy import free_entropy
from gcnlimit.theory.unrolled import message_passing

__all__ = ["degree_correction", "free_entropy", "large_reg_expansion", "message_passing"]
