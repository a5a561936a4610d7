"""The losses: convex functions of the margin z = y h, which enter the theory through their proximal operator."""

from gcnlimit.losses.base import Loss
from gcnlimit.losses.custom import FromValue, as_loss
from gcnlimit.losses.standard import Hinge, Logistic, Softmax, Square

__all__ = ["FromValue", "Hinge", "Logistic", "Loss", "Softmax", "Square", "as_loss"]
