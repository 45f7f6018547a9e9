"""The periodic task of operations; it runs on the sweeper, which drives no runs."""

from celery import shared_task

from kscope.operations.retention import policy_of_settings, retention_apply


@shared_task(ignore_result=True)
def apply_retention() -> None:
    """Delete and thin out runs as the settings say; by default they say nothing."""
    policy = policy_of_settings()
    if not policy.is_empty:
        retention_apply(policy)
