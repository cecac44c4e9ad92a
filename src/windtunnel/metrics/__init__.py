"""Metrics: pure functions of arrays, one file per family, and the scores made of them."""
