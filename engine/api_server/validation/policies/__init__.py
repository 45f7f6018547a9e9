"""What admission policies, their bindings and the configurations of webhooks have to be.

Upstream: pkg/apis/admissionregistration/validation/validation.go.
"""
