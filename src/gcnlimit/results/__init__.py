"""What the functions of the library return: the records, and how they are shown as text, tables and pictures."""

from gcnlimit._runtime.extras import on_first_use

with on_first_use(globals()):
    from gcnlimit.choose.best_filter import BestFilter as BestFilter
    from gcnlimit.choose.best_filter import FilterCeiling as FilterCeiling
    from gcnlimit.choose.compare import Comparison as Comparison
    from gcnlimit.choose.gap_map import GapMap as GapMap
    from gcnlimit.choose.search import TuneStatus as TuneStatus
    from gcnlimit.choose.tune import Tuned as Tuned
    from gcnlimit.results.calibration import Calibration as Calibration
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
