"""ResourceQuotas: what a namespace may hold in all, and what it holds.

    admission ─▶ usage ─▶ pod_usage, other_usage ─▶ scopes, amounts

`admission` refuses a new object that exceeds a quota, and adds it to the quota's status. The quota
controller (workloads) counts by the same `usage` what a namespace really holds.
Upstream: apiserver pkg/admission/plugin/resourcequota, pkg/quota/v1.
"""
