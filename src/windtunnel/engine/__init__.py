"""The engine plans runs and executes them: it reads images and writes predictions."""
