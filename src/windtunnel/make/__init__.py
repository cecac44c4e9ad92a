"""Data sets written to disk: planned, made chunk by chunk, checked, and continued where they stopped."""
