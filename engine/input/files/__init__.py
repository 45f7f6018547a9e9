"""Files as they are read: piece by piece where they are large, with the lines of what is wrong."""
