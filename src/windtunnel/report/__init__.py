"""Reports: HTML pages, Markdown, JSON, CSV, terminal summaries, contact sheets and the gallery."""
