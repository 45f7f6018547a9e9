"""The parts of one decision that `SchedulingAlgorithm` puts together.

    result (what was decided), sampling (how many nodes a search needs), host_choice (which of the
    best nodes is taken), fit_errors (why no node fits, as statuses and text), explanations (what
    pages show of a decision), extender_rounds (extenders), post_filters (making room)

Upstream: pkg/scheduler/schedule_one.go, framework/types.go FitError.
"""
