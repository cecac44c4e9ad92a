"""Imported predictions: read in blocks from files, stored as an ordinary run."""

from windtunnel.importing.imported_run import score_predictions as score_predictions
