"""How often the process of a run was killed while it computed that."""

from django.db import migrations, models


class Migration(migrations.Migration):
    older_versions_go_on = True
    dependencies = [("runs", "0028_pieces")]
    operations = [
        migrations.AddField(
            "run",
            "driver_deaths",
            models.IntegerField(
                db_default=0,
                default=0,
                help_text="processes that were killed while they computed it, since its last slice",
            ),
        ),
    ]
