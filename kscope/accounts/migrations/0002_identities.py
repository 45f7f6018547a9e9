"""Identities of a provider; sessions under the digests of their keys; roles of superusers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def end_sessions(apps, schema_editor):
    """Sessions are looked up by a digest from now on: those under their keys are found no more."""
    apps.get_model("sessions", "Session").objects.all().delete()


def give_roles(apps, schema_editor):
    """The role alone decides from now on; so far the flag of a superuser did as well."""
    accounts = apps.get_model("accounts", "Account").objects
    accounts.filter(user__is_superuser=True).exclude(role="admin").update(role="admin")


class Migration(migrations.Migration):
    # No version knows the number of the format and not this.
    older_versions_go_on = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("sessions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Identity",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("issuer", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="identities", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "verbose_name_plural": "identities",
                "ordering": ("issuer", "subject"),
                "constraints": [models.UniqueConstraint(fields=("issuer", "subject"), name="identity_issuer_subject")],
            },
        ),
        migrations.RunPython(end_sessions, migrations.RunPython.noop),
        migrations.RunPython(give_roles, migrations.RunPython.noop),
    ]
