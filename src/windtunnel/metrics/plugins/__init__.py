"""Metrics: one file each, holding the function that measures it and its facts.

A metric is the function `name(run, seen)` in the file `name.py`, decorated with @metric. What several metrics
compute together is in the modules of `windtunnel.metrics`.
"""
