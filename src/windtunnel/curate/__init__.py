"""Curation projects: natural sets and frame sets from a user's own images and videos."""
