"""What people write on pages, read as commands and configurations: nothing here writes anything."""
