"""What a pod asks for and tolerates, and what its conditions say."""
