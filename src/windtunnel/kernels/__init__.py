"""Numeric primitives that units share: random draws, noise tables, filters."""
