"""Results in other systems: pull requests, experiment trackers, model cards."""
