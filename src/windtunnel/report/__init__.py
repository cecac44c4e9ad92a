"""What people read: one offline HTML page per run, the same as JSON and CSV, contact sheets, the gallery."""
