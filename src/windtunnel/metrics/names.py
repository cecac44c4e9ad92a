"""The metrics a suite may ask for: name to the function that measures, imported when asked for."""

MEASURES = {
    "top1_error": "windtunnel.metrics.error:top1_error",
    "top5_error": "windtunnel.metrics.error:top5_error",
    "mean_error": "windtunnel.metrics.error:mean_error",
    "ce": "windtunnel.metrics.corruption_error:ce",
    "mce": "windtunnel.metrics.corruption_error:mce",
    "relative_ce": "windtunnel.metrics.corruption_error:relative_ce",
    "relative_mce": "windtunnel.metrics.corruption_error:relative_mce",
    "weighted_error": "windtunnel.metrics.error:weighted_error",
    "residual_robustness": "windtunnel.metrics.against_clean:residual_robustness",
    "flip_share": "windtunnel.metrics.against_clean:flip_share",
    "ece": "windtunnel.metrics.calibration:ece",
    "rms_calibration_error": "windtunnel.metrics.calibration:rms",
    "aurra": "windtunnel.metrics.response:aurra",
    "brier": "windtunnel.metrics.proper:brier",
    "nll": "windtunnel.metrics.proper:nll",
    "step_cost": "windtunnel.metrics.pipeline:step_cost",
    "step_flip_share": "windtunnel.metrics.pipeline:step_flip_share",
    "axis_accuracy": "windtunnel.metrics.pipeline:axis_accuracy",
}

# What is divided by another model's errors.
NORMALISED = ("ce", "mce", "relative_ce", "relative_mce")

# Scores that are no shares, and are not shown in per cent.
NOT_SHARES = ("brier", "nll")

# How people write those that head a report.
TITLES = {
    "mean_error": "mean error",
    "weighted_error": "weighted error",
    "mce": "mCE",
    "relative_mce": "relative mCE",
}
