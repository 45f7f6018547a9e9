"""Runs and scenarios get an owner and a visibility; the bytes of uploads are counted.

What exists has no owner. So far everybody could read it; from now on every account may, nobody
who is not logged in, except where no login is required. Demos stay public.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

OWNER = {
    "blank": True,
    "null": True,
    "on_delete": django.db.models.deletion.PROTECT,
    "to": settings.AUTH_USER_MODEL,
    "help_text": "empty: whoever is at the machine, where no login is required",
}
VISIBILITY = {
    "choices": [
        ("private", "private: only its owner"),
        ("shared", "shared: every account"),
        ("public", "public: everybody"),
    ],
    "default": "private",
    "max_length": 7,
}


def share_what_exists(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("UPDATE runs_run SET visibility = 'shared'")
        cursor.execute(
            "UPDATE runs_scenario SET bytes = octet_length(document::text),"
            " visibility = CASE WHEN is_demo THEN 'public' ELSE 'shared' END"
        )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("runs", "0005_forks"),
    ]

    operations = [
        migrations.AddField("run", "owner", models.ForeignKey(related_name="%(class)ss", **OWNER)),
        migrations.AddField("run", "visibility", models.CharField(**VISIBILITY)),
        migrations.AddField("scenario", "owner", models.ForeignKey(related_name="%(class)ss", **OWNER)),
        migrations.AddField("scenario", "visibility", models.CharField(**VISIBILITY)),
        migrations.AddField(
            "scenario",
            "bytes",
            models.BigIntegerField(default=0, help_text="of the document; counts for the quota"),
        ),
        migrations.RunPython(share_what_exists, migrations.RunPython.noop),
        migrations.AlterField("scenario", "digest", models.CharField(max_length=64)),
        migrations.AddConstraint(
            "scenario",
            models.UniqueConstraint(
                fields=("owner", "digest"), name="scenario_owner_digest", nulls_distinct=False
            ),
        ),
    ]
