"""How manifests of objects are stored: packed, with what manifests that are alike have in common."""
