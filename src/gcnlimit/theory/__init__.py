"""Exact answers in the large-size limit."""

from gcnlimit.theory.ceiling.amp_layers import message_passing
from gcnlimit.theory.label_free import label_free_signals
from gcnlimit.theory.linear import label_propagation
from gcnlimit.theory.scatter import paired_scatter, scatter
from gcnlimit.theory.transfer import best_test_filter, best_training_filter

__all__ = ["best_test_filter", "best_training_filter", "label_free_signals", "label_propagation"]
__all__ += ["message_passing", "paired_scatter", "scatter"]
