"""The types of answers about scheduling; see kscope/runs/web/shapes."""
