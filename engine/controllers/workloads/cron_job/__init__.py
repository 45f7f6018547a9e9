"""CronJobs: Jobs that are created by a schedule. Upstream: pkg/controller/cronjob.

    base ─▶ polling   looks at all CronJobs every ten seconds (profiles up to v1.20)
         └▶ watching  looks at each when it is due, or something of it has changed

`watching` and `polling` ask `times` what is due, and change the status through `status`.
"""
