"""The losses: convex functions of the margin z = y h, which enter the theory through their proximal operator."""

from gcnlimit.losses.base import Loss
from gcnlimit.losses.custom import FromValue, as_loss
from gcnlimit.losses.hinge import Hinge
from gcnlimit.losses.logistic import Logistic
from gcnlimit.losses.softmax import Softmax
from gcnlimit.losses.square import Square

__all__ = ["FromValue", "Hinge", "Logistic", "Loss", "Softmax", "Square", "as_loss"]
