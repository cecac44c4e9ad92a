"""Review: people judge images and frame pairs; their verdicts are events, and nothing is overwritten."""
