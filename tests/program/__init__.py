"""The program `kscope`: what is typed, and what it answers."""
