"""Other packages' call signatures over windtunnel's pixels: a user changes one import."""
