"""Analysis: what several runs say together: comparisons, gates, errors relative to a stored run."""
