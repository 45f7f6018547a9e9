"""Long work of one run, cut so that others have turns between."""
