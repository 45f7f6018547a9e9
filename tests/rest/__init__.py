"""The REST API as others use it: by its document alone."""
