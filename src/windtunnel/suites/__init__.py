"""Suites: versioned TOML files that define what to run and how to score it."""
