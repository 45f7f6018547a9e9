"""The parts of one decision that `SchedulingAlgorithm` puts together.

    result (what was decided), sampling (how many nodes a search needs), fit_errors (why no node
    fits, as statuses and text), extender_rounds (extenders), post_filters (making room)

Upstream: pkg/scheduler/schedule_one.go, framework/types.go FitError.
"""
