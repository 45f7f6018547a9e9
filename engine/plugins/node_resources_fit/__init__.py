"""Room for what pods request."""
