"""What the functions of the library return: the records, and how they are shown as text, tables and pictures."""

from gcnlimit._runtime.extras import on_first_use

_HOMES = {
    "gcnlimit.choose.best_filter": "BestFilter FilterCeiling",
    "gcnlimit.choose.compare": "Comparison",
    "gcnlimit.choose.gap_map": "GapMap",
    "gcnlimit.choose.search": "TuneStatus",
    "gcnlimit.choose.tune": "Tuned",
    "gcnlimit.results.calibration": "Calibration",
    "gcnlimit.results.order_parameters": "OrderFunctions OrderParameters",
    "gcnlimit.results.performance": "BayesPrediction Measurement Performance Prediction Status",
    "gcnlimit.results.result": "Result",
    "gcnlimit.simulation.data.observation": "Observation",
    "gcnlimit.simulation.fit": "Fit",
    "gcnlimit.simulation.infer.inference": "Inference",
    "gcnlimit.theory.depth.oversmoothing": "Oversmoothing",
}
__all__, __getattr__ = on_first_use(globals(), _HOMES)
