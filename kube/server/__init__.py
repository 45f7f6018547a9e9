"""Answers requests to the Kubernetes API of a run, in front of Django.

    /k8s/runs/12            the run as it is now
    /k8s/runs/12@5m30s      the run at an instant of the past, for reading only

`application` takes a request in, `visitors` finds who asks and for which run. `objects` has those of
the instant that is meant, from which `reading` answers, and `listing` where several are asked for;
`watches` tell what changes, and `writes` make commands of what clients want.
"""
