"""The first look at a cluster that was brought: what was read, what is assumed, how far to trust it."""
