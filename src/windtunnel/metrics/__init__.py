"""Metrics: pure functions of arrays, one file per family, and the scores computed from them."""
