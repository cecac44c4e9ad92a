"""Call signatures of other packages for windtunnel's corruptions: a user changes one import."""
