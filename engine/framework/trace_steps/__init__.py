"""What the framework tells a trace of a scheduling cycle: nodes, PreFilter, Filter, scores.

Values only, made where the decision is made; see `engine.kernel.trace`. A cycle without a trace
makes none of them.
"""
