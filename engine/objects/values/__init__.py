"""Values inside manifests: quantities, durations, CEL text, and how messages show them."""
