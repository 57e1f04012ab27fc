"""Reports: JSON, CSV, Markdown, HTML and figures, all from one decision document."""
