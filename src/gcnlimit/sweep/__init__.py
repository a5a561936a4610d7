"""Grids of answers: any producer over any parameters, labelled, resumable, on one core or on a cluster."""

from gcnlimit.sweep.run import sweep
from gcnlimit.sweep.store import Store, StoreError

__all__ = ["Store", "StoreError", "sweep"]
