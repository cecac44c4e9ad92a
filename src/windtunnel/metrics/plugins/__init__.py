"""Metrics: one file each, with the function that computes the metric and its metadata.

A metric is the function `name(run, seen)` in the file `name.py`, decorated with @metric. Code that
several metrics share is in the modules of `windtunnel.metrics`.
"""
