"""Who looks at the admin."""

from typing import Any

import pytest
from django.test import Client


@pytest.fixture
def admin(transactional_db: Any, admin_client: Client) -> Client:
    """The browser of an admin."""
    return admin_client
