"""Modules that every layer shares: records, unit names, labels, seeding, the registry, errors."""
