"""Lists as CSV files, read and sent page by page."""
