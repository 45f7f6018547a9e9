"""What a worker writes to the database: how fast, and how much."""
