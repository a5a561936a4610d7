"""What computes: NumPy and SciPy on the processor, or PyTorch on a graphics card; the algorithms stand once."""

from gcnlimit.simulation.backend.base import Backend as Backend
from gcnlimit.simulation.backend.base import Device as Device
from gcnlimit.simulation.backend.base import backend_of as backend_of
