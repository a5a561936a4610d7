"""What the functions of the library return: the records, and how they are shown as text, tables and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcnlimit._runtime.extras import on_first_use

if TYPE_CHECKING:  # for editors and type checkers; a test compares them with _HOMES
    from gcnlimit.choose.best_filter import BestFilter as BestFilter
    from gcnlimit.choose.best_filter import FilterCeiling as FilterCeiling
    from gcnlimit.choose.compare import Comparison as Comparison
    from gcnlimit.choose.compare import GapMap as GapMap
    from gcnlimit.choose.tune import Tuned as Tuned
    from gcnlimit.choose.tune import TuneStatus as TuneStatus
    from gcnlimit.results.order_parameters import OrderFunctions as OrderFunctions
    from gcnlimit.results.order_parameters import OrderParameters as OrderParameters
    from gcnlimit.results.performance import BayesPrediction as BayesPrediction
    from gcnlimit.results.performance import Measurement as Measurement
    from gcnlimit.results.performance import Performance as Performance
    from gcnlimit.results.performance import Prediction as Prediction
    from gcnlimit.results.performance import Status as Status
    from gcnlimit.results.result import Result as Result
    from gcnlimit.simulation.data.observation import Observation as Observation
    from gcnlimit.simulation.fit import Fit as Fit
    from gcnlimit.simulation.infer.inference import Inference as Inference
    from gcnlimit.theory.depth.oversmoothing import Oversmoothing as Oversmoothing

_HOMES = {
    "choose.best_filter": "BestFilter FilterCeiling",
    "choose.compare": "Comparison GapMap",
    "choose.tune": "TuneStatus Tuned",
    "results.order_parameters": "OrderFunctions OrderParameters",
    "results.performance": "BayesPrediction Measurement Performance Prediction Status",
    "results.result": "Result",
    "simulation.data.observation": "Observation",
    "simulation.fit": "Fit",
    "simulation.infer.inference": "Inference",
    "theory.depth.oversmoothing": "Oversmoothing",
}
_HOME = {name: f"{home}:{name}" for home, names in _HOMES.items() for name in names.split()}

__all__ = [*_HOME]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _HOME)
