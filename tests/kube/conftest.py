"""Questions about the past are answered in processes that are forked from one."""

from tests.loaders import forked_processes  # noqa: F401  # a fixture
