"""Studies: several trainings and evaluations that belong together, in one resumable folder."""
