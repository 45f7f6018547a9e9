"""The zone of a node is also read from the label that it had before v1.17."""

import django.db.models.functions.comparison
from django.db import migrations, models

import kscope.runs.models


def label(name):
    """The text of a label in the manifest."""
    return kscope.runs.models.ManifestText("metadata", "labels", name)


class Migration(migrations.Migration):
    # An older version reads the column, and writes manifests alone.
    older_versions_go_on = True

    dependencies = [
        ("scheduling", "0002_events_of_objects"),
    ]

    operations = [
        # What generates a column cannot be changed; its values are made anew.
        migrations.RemoveField(model_name="node", name="zone"),
        migrations.AddField(
            model_name="node",
            name="zone",
            field=models.GeneratedField(
                db_persist=True,
                expression=django.db.models.functions.comparison.Coalesce(
                    label("topology.kubernetes.io/zone"),
                    label("failure-domain.beta.kubernetes.io/zone"),
                    models.Value("", output_field=models.TextField()),
                ),
                output_field=models.TextField(),
            ),
        ),
    ]
