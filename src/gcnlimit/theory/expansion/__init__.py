"""Expansion of the self-consistent equations in powers of 1/reg."""

from gcnlimit.theory.expansion.large_reg import large_reg_expansion as large_reg_expansion
