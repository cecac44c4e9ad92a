"""Statistics: intervals, bootstraps over pictures, paired differences, ranks."""
