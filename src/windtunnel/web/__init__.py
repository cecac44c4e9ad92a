"""Web applications: to review items and to browse runs; they call `windtunnel.api` as the commands do."""
