r"""The filters: every network of this library is a scalar function :math:`g` of the graph operator :math:`a`.

A filter gives its function (Eq. 2.1) and, for directed graphs, the chain of layers that computes it (Eq. 2.2).
"""

from gcnlimit.filters.action import power_sum
from gcnlimit.filters.base import Averages, Filter, SearchScale, to_unit
from gcnlimit.filters.chain import Chain
from gcnlimit.filters.polynomial import Function, Polynomial, Residual, as_filter
from gcnlimit.filters.series import Diffusion, PageRank

__all__ = ["Averages", "Chain", "Diffusion", "Filter", "Function", "PageRank", "Polynomial"]
__all__ += ["Residual", "SearchScale", "as_filter", "power_sum", "to_unit"]
