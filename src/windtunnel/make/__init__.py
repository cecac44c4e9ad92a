"""Datasets written to disk: planned, made in chunks, verified, and continued after an interruption."""
