"""Tasks: what models predict, one module each; see `windtunnel.core.task`."""
