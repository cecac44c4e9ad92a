"""Predictions made elsewhere: read in blocks from files, stored as an ordinary run."""

from windtunnel.predictions.incoming import score_predictions as score_predictions
