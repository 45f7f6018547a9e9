"""What the controllers share: the work queue, owners, listers, deletion. `rules` has the versions' differences."""
