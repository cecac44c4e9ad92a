"""The metrics a suite may ask for, by name."""

METRIC_NAMES = ("mean_error", "top1_error", "top5_error")
