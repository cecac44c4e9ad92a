"""Overlapping scores: how far training with one corruption helps against another."""
