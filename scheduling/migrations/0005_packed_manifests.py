"""Manifests of rows are packed: as runs.0037_packed_manifests says."""

import kscope.runs.manifests.fields
from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('scheduling', '0004_attempts_of_forks'),
        ('runs', '0037_packed_manifests'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE scheduling_node ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION, ALTER unschedulable DROP EXPRESSION, ALTER zone DROP EXPRESSION;"
                    "ALTER TABLE scheduling_node ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8');"
                    "ALTER TABLE scheduling_pod ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION, ALTER node_name DROP EXPRESSION, ALTER nominated_node_name DROP EXPRESSION, ALTER phase DROP EXPRESSION, ALTER scheduler_name DROP EXPRESSION;"
                    "ALTER TABLE scheduling_pod ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8');"
                ),
            ],
            state_operations=[
                migrations.AlterField('node', 'manifest', kscope.runs.manifests.fields.ManifestField()),
                migrations.AlterField('node', 'namespace', models.TextField()),
                migrations.AlterField('node', 'name', models.TextField()),
                migrations.AlterField('node', 'unschedulable', models.BooleanField()),
                migrations.AlterField('node', 'zone', models.TextField()),
                migrations.AlterField('pod', 'manifest', kscope.runs.manifests.fields.ManifestField()),
                migrations.AlterField('pod', 'namespace', models.TextField()),
                migrations.AlterField('pod', 'name', models.TextField()),
                migrations.AlterField('pod', 'node_name', models.TextField()),
                migrations.AlterField('pod', 'nominated_node_name', models.TextField()),
                migrations.AlterField('pod', 'phase', models.TextField(default='Pending')),
                migrations.AlterField('pod', 'scheduler_name', models.TextField(default='default-scheduler')),
            ],
        ),
        raise_format(8),
    ]
