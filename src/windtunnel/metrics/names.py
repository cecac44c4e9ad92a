"""The metrics a suite may ask for: name to the function that measures, imported when asked for."""

MEASURES = {
    "top1_error": "windtunnel.metrics.error:top1_error",
    "top5_error": "windtunnel.metrics.error:top5_error",
    "mean_error": "windtunnel.metrics.error:mean_error",
    "ce": "windtunnel.metrics.corruption_error:ce",
    "mce": "windtunnel.metrics.corruption_error:mce",
    "relative_mce": "windtunnel.metrics.corruption_error:relative_mce",
}

# How people write those that head a report.
TITLES = {"mean_error": "mean error", "mce": "mCE", "relative_mce": "relative mCE"}
