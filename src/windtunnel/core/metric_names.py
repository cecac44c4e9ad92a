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
    "residual_robustness": "windtunnel.metrics.clean_comparison:residual_robustness",
    "flip_share": "windtunnel.metrics.clean_comparison:flip_share",
    "ece": "windtunnel.metrics.calibration:ece",
    "rms_calibration_error": "windtunnel.metrics.calibration:rms",
    "rms_calibration_error_compat": "windtunnel.metrics.calibration:rms_compat",
    "aurra": "windtunnel.metrics.aurra:aurra",
    "brier": "windtunnel.metrics.proper_scores:brier",
    "nll": "windtunnel.metrics.proper_scores:nll",
    "flip_probability": "windtunnel.metrics.sequence_scores:flip_probability",
    "mfp": "windtunnel.metrics.sequence_scores:mfp",
    "flip_rate": "windtunnel.metrics.flip_rates:flip_rate",
    "mfr": "windtunnel.metrics.flip_rates:mfr",
    "ut5d": "windtunnel.metrics.sequence_scores:ut5d",
    "mean_ut5d": "windtunnel.metrics.sequence_scores:mean_ut5d",
    "t5d": "windtunnel.metrics.flip_rates:t5d",
    "mt5d": "windtunnel.metrics.flip_rates:mt5d",
    "zipf_distance": "windtunnel.metrics.sequence_scores:zipf_distance",
    "log_distance": "windtunnel.metrics.sequence_scores:log_distance",
    "step_cost": "windtunnel.metrics.pipeline_steps:step_cost",
    "step_flip_share": "windtunnel.metrics.pipeline_steps:step_flip_share",
    "axis_accuracy": "windtunnel.metrics.pipeline_steps:axis_accuracy",
    "accuracy_drop": "windtunnel.metrics.accuracy_drop:accuracy_drop",
    "aupr": "windtunnel.metrics.ood_detection:aupr",
    "auroc": "windtunnel.metrics.ood_detection:auroc",
    "aupr_trapezoid": "windtunnel.metrics.ood_detection:aupr_trapezoid",
    "fpr95": "windtunnel.metrics.ood_detection:fpr95",
    "fpr95_compat": "windtunnel.metrics.ood_detection:fpr95_compat",
    "pm_k": "windtunnel.metrics.frame_sets:pm_k",
    "pm_k_anchor_excluded": "windtunnel.metrics.frame_sets:pm_k_anchor_excluded",
    "pm_drop": "windtunnel.metrics.frame_sets:pm_drop",
    "frame_accuracy": "windtunnel.metrics.frame_sets:frame_accuracy",
    "frame_accuracy_pooled": "windtunnel.metrics.frame_sets:frame_accuracy_pooled",
    "offset_error": "windtunnel.metrics.frame_sets:offset_error",
    "offset_error_all": "windtunnel.metrics.frame_sets:offset_error_all",
}

# What judges a score that tells out images from in ones; `auroc:energy` is one of them of one score.
OF_DETECTION = ("aupr", "auroc", "aupr_trapezoid", "fpr95", "fpr95_compat")
# Of frame sets of videos.
OF_FRAMES = (
    "pm_k", "pm_k_anchor_excluded", "pm_drop", "frame_accuracy", "frame_accuracy_pooled", "offset_error",
    "offset_error_all",
)  # fmt: skip
# Of natural sets with their clean images.
OF_NATURAL_SETS = ("accuracy_drop",)

# Of natural sets: what is measured across the parts of a run; everything else is measured in each part.
ACROSS_PARTS = (*OF_NATURAL_SETS, *OF_DETECTION, *OF_FRAMES)

# What rests on the images that a model has right, and so on others in every run.
OF_RIGHT_IMAGES = ("offset_error",)

# What is divided by another model's errors.
NORMALISED = ("ce", "mce", "relative_ce", "relative_mce")
# The same for sequences.
NORMALISED_SEQUENCES = ("flip_rate", "mfr", "t5d", "mt5d")

# What needs every class's probability.
OF_PROBABILITIES = ("ece", "rms_calibration_error", "rms_calibration_error_compat", "aurra", "brier", "nll")

# Of runs of corruptions.
OF_CORRUPTIONS = ("mean_error", "weighted_error", "residual_robustness", "flip_share", *NORMALISED)
# Of runs of sequences.
OF_SEQUENCES = (
    "flip_probability", "mfp", "ut5d", "mean_ut5d", "zipf_distance", "log_distance", *NORMALISED_SEQUENCES,
)  # fmt: skip
# Of runs that swap pipeline steps.
OF_STEPS = ("step_cost", "step_flip_share", "axis_accuracy")

# What asks whether answers change, not whether they are right.
NEED_NO_LABEL = (
    "flip_probability", "mfp", "flip_rate", "mfr", "ut5d", "mean_ut5d", "t5d", "mt5d", "zipf_distance",
    "log_distance", "step_flip_share",
    "axis_accuracy",  # of which the flips alone are left
)  # fmt: skip

# Of these more is better; of all others less.
MORE_IS_BETTER = (
    "aurra", "aupr", "auroc", "aupr_trapezoid", "pm_k", "pm_k_anchor_excluded", "frame_accuracy",
    "frame_accuracy_pooled",
)  # fmt: skip

# Scores that are no shares, and are not shown in per cent; with what they are measured in.
NOT_SHARES = {
    "brier": "",
    "nll": "nats",
    "ut5d": "ranks",
    "mean_ut5d": "ranks",
    "zipf_distance": "",
    "log_distance": "",
}

# How the names of scores end that say how far accuracies lie apart: shares, shown in points.
SPREADS = ("_accuracy_std", "_accuracy_std_corrected", "_accuracy_range")

# Shares less other shares, shown in points too.
DROPS = ("accuracy_drop", "pm_drop")

# How people write those that head a report.
TITLES = {
    "mean_error": "mean error",
    "weighted_error": "weighted error",
    "mce": "mCE",
    "relative_mce": "relative mCE",
    "mfp": "mFP",
    "mfr": "mFR",
    "mean_ut5d": "mean uT5D",
    "mt5d": "mT5D",
    "accuracy_drop": "accuracy drop",
    "frame_accuracy": "frame accuracy",
}

# The same of those that judge a score of out-of-distribution images.
DETECTION_TITLES = {"aupr": "AUPR", "auroc": "AUROC", "fpr95": "FPR95"}

# How people write those of single conditions.
SHORT_NAMES = {
    "top1_error": "error",
    "ce": "CE",
    "relative_ce": "relative CE",
    "flip_probability": "FP",
    "flip_rate": "FR",
    "ut5d": "uT5D",
    "t5d": "T5D",
}

# Where all of them are to be seen.
LIST_METRICS = "windtunnel list metrics"

# Accuracies beside how far they lie apart: neither more nor less of it all is better.
OF_NO_DIRECTION = ("axis_accuracy",)

# Every way to write a metric, in small letters.
WRITTEN = {
    written.lower(): metric
    for names in ({metric: metric for metric in MEASURES}, TITLES, DETECTION_TITLES, SHORT_NAMES)
    for metric, written in names.items()
}


def metric_named(written: str) -> str:
    """The metric that a user means (`FP`, `mFP`, `mean error`, `auroc:energy`); what is unknown as it is."""
    name, colon, score = written.partition(":")
    return WRITTEN.get(name.strip().lower(), name) + colon + score


def better(metric: str) -> str:
    """Whether `more` or `less` of a metric is better, "" where neither is."""
    if metric in OF_NO_DIRECTION:
        return ""
    return "more" if metric in MORE_IS_BETTER else "less"
