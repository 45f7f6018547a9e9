"""Django's admin as an app, with kscope's own site; apart because an app has one configuration."""

from django.contrib.admin import apps


class KscopeAdminConfig(apps.AdminConfig):
    """Django's admin, for accounts with the role admin."""

    default_site = "kscope.accounts.admin_site.KscopeAdminSite"
