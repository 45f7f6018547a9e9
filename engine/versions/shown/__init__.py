"""What pages and documents show of the versions: choices, and the table of what differs."""
