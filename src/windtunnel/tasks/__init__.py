"""Tasks, one module each: what models predict; see `windtunnel.core.task`."""
