"""Random broken input of every kind that kscope takes, in search of a traceback, a hang or a leak.

`make fuzz` runs it for long; the tests run a few seconds of each kind. Each input follows from its
kind and its number alone, so that a finding can be had again: `make fuzz FUZZ_KIND=commands
FUZZ_FIRST=1234 FUZZ_COUNT=1`. What was found is kept as a small named case beside the tests of what
it broke: test_commands.py, test_kept_values.py, test_stream.py and others.
"""
