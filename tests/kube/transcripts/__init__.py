"""What kubectl of several versions asked of a run, and what came back: recorded once, replayed here.

`make test-kubectl` records anew when KSCOPE_TRANSCRIPTS is set: each command of tests/kubectl.
"""
