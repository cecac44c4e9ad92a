"""Analysis of runs and models: comparisons, gates, distances, explanations, the doctor."""
