"""Exact answers in the large-size limit."""

from gcnlimit.theory.bayes import degree_correction
from gcnlimit.theory.ceiling.amp_layers import message_passing
from gcnlimit.theory.expansion import large_reg_expansion
from gcnlimit.theory.finite_reg.free_entropy import free_entropy

__all__ = ["degree_correction", "free_entropy", "large_reg_expansion", "message_passing"]
