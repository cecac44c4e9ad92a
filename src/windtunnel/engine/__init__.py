"""Plan the work, and do it: pictures in, predictions out, nothing else."""
