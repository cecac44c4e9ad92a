"""Plan the work, and do it: images in, predictions out, nothing else."""
