"""What the functions of the library return, in one place: for type annotations and for reading."""

from gcnlimit._display import Shown
from gcnlimit.choose.best_filter import BestFilter, FilterCeiling
from gcnlimit.choose.comparison import Comparison
from gcnlimit.choose.gap_map import GapMap
from gcnlimit.choose.tune import Tuned, TuneStatus
from gcnlimit.order_parameters import OrderFunctions, OrderParameters
from gcnlimit.performance import BayesPrediction, FullPerformance, Measurement, Performance, Prediction, Status
from gcnlimit.simulation.fit import Fit
from gcnlimit.simulation.inference import Inference
from gcnlimit.simulation.observation import Observation
from gcnlimit.theory.depth.oversmoothing import Oversmoothing

__all__ = [
    "BayesPrediction",
    "BestFilter",
    "Comparison",
    "FilterCeiling",
    "Fit",
    "FullPerformance",
    "GapMap",
    "Inference",
    "Measurement",
    "Observation",
    "OrderFunctions",
    "OrderParameters",
    "Oversmoothing",
    "Performance",
    "Prediction",
    "Shown",
    "Status",
    "TuneStatus",
    "Tuned",
]
