"""Suites: versioned TOML files that say what to run and how to score it."""
