"""The metrics a suite may ask for: name to the function that makes its scores, imported when asked for."""

SCORERS = {
    "top1_error": "windtunnel.metrics.error:top1_scores",
    "top5_error": "windtunnel.metrics.error:top5_scores",
    "mean_error": "windtunnel.metrics.error:mean_error_scores",
    "ce": "windtunnel.metrics.corruption_error:ce_scores",
    "mce": "windtunnel.metrics.corruption_error:mce_scores",
    "relative_mce": "windtunnel.metrics.corruption_error:relative_mce_scores",
}

# How people write those that head a report.
TITLES = {"mean_error": "mean error", "mce": "mCE", "relative_mce": "relative mCE"}
