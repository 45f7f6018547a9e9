"""Acts: they start or print something, and end with 0 when that is done, whatever a cluster looks like."""
