"""The steps of the framework in a scheduling cycle: nodes, PreFilter, Filter, scores.

Values only, made where the decision is made; see `engine.kernel.trace`. A cycle without a trace
makes none of them.
"""
