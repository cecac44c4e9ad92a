"""Statistics: intervals now; paired tests and bootstraps beside them later."""
