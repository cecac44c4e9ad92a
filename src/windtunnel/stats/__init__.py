"""Statistics: intervals, bootstraps over images, paired differences, ranks."""
