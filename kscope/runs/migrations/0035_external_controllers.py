"""A run keeps which controllers are left to a client of its Kubernetes API."""

from django.db import migrations, models


class Migration(migrations.Migration):
    older_versions_go_on = True

    dependencies = [
        ('runs', '0034_rows_at_rest'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='external_controllers',
            field=models.JSONField(blank=True, default=list, help_text="controllers that a client of its Kubernetes API runs, beside the scenario's"),
        ),
    ]
