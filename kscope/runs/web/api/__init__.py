"""The REST API of runs and scenarios: one module for each subject.

A view checks who asks (`found_run`), calls one service or selector, and answers with JSON. `errors`
gives every refusal one shape, `parameters` reads the parameters in an address.
"""
