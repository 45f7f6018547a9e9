"""What deletes objects that nothing needs any more: by owner, by namespace, by node."""
