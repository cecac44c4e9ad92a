"""Web applications: people review items, and browse runs; they call `windtunnel.api` like the command line."""
