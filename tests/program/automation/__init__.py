"""The program for other programs: gates of CI, agents."""
