"""The averages of a filter over a graph that decide its accuracy at infinite regularization."""

from __future__ import annotations

from typing import NamedTuple

from gcnlimit._values import Array

__all__ = ["Averages"]


class Averages(NamedTuple):
    r"""The averages of a filter that enter the accuracy; a common scale of the filter drops out.

    `tau_g2` is :math:`\tau(g^2)`, `e_g2` is :math:`e(g^2)`, `excess` is their difference, `e_g` is :math:`e(g)`;
    `coherent` and `scattered` are the variances of the output due to the signal and to the choice of labelled nodes
    (Eqs. 4.7 and 4.13).
    """

    tau_g2: Array
    e_g2: Array
    excess: Array
    e_g: Array
    coherent: Array
    scattered: Array
