"""Training: one plain loop over our data sets, and what makes models less sensitive (extra `torch`)."""

from windtunnel.train.loop import Settings, Trained, fit
from windtunnel.train.mixing import Mix

__all__ = ["Mix", "Settings", "Trained", "fit"]
