"""Where files come from: folders, archives and bundles, and which of them are no manifests."""
