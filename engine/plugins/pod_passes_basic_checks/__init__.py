"""Claims that have to exist before anything else."""
