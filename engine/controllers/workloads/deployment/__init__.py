"""The Deployment controller: one ReplicaSet per revision, scaled or rolled out.

    controller ─▶ rolling, recreate ─▶ revisions, progress ─▶ scaling ─▶ conditions, rollout

The files follow upstream's: sync.go is revisions and scaling, deployment_util.go is rollout and
conditions. Upstream: pkg/controller/deployment.
"""
