"""What each object of a run was when: its states in the order of time."""
