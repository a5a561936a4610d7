"""Checks of what users add: a loss, a filter."""

from gcnlimit.checks.filter import check_filter
from gcnlimit.checks.loss import check_loss

__all__ = ["check_filter", "check_loss"]
