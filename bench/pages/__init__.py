"""What a browser makes of pages of large runs."""
