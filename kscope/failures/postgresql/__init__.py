"""Django's PostgreSQL, for `ENGINE`: a disk that has become read-only counts as a server that is away."""
