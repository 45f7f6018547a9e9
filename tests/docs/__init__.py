"""What the documents name must exist, and their examples must run.

`documents` reads the documents, `mentions` finds what they name, `truth` looks it up in the code.
`make check` runs `python -m tests.docs`, which prints every name that does not exist.
"""
