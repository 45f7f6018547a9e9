"""Pages of accounts: log in and out, password, quotas and tokens."""
