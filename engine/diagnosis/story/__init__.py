"""What a gallery shows of a run: its picture, what went wrong in it, and a replay."""
