"""Manifests of rows are packed: as runs.0037_packed_manifests says."""

import kscope.runs.manifests.fields
from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('volumes', '0002_events_of_objects'),
        ('runs', '0037_packed_manifests'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE volumes_persistentvolume ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION, ALTER phase DROP EXPRESSION, ALTER storage_class DROP EXPRESSION, ALTER capacity DROP EXPRESSION, ALTER claim_namespace DROP EXPRESSION, ALTER claim_name DROP EXPRESSION;"
                    "ALTER TABLE volumes_persistentvolume ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8');"
                    "ALTER TABLE volumes_persistentvolumeclaim ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION, ALTER phase DROP EXPRESSION, ALTER storage_class DROP EXPRESSION, ALTER request DROP EXPRESSION, ALTER volume_name DROP EXPRESSION;"
                    "ALTER TABLE volumes_persistentvolumeclaim ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8');"
                    "ALTER TABLE volumes_storageclass ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION, ALTER provisioner DROP EXPRESSION, ALTER binding_mode DROP EXPRESSION, ALTER reclaim_policy DROP EXPRESSION;"
                    "ALTER TABLE volumes_storageclass ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8');"
                ),
            ],
            state_operations=[
                migrations.AlterField('persistentvolume', 'manifest', kscope.runs.manifests.fields.ManifestField()),
                migrations.AlterField('persistentvolume', 'namespace', models.TextField()),
                migrations.AlterField('persistentvolume', 'name', models.TextField()),
                migrations.AlterField('persistentvolume', 'phase', models.TextField()),
                migrations.AlterField('persistentvolume', 'storage_class', models.TextField()),
                migrations.AlterField('persistentvolume', 'capacity', models.TextField()),
                migrations.AlterField('persistentvolume', 'claim_namespace', models.TextField()),
                migrations.AlterField('persistentvolume', 'claim_name', models.TextField()),
                migrations.AlterField('persistentvolumeclaim', 'manifest', kscope.runs.manifests.fields.ManifestField()),
                migrations.AlterField('persistentvolumeclaim', 'namespace', models.TextField()),
                migrations.AlterField('persistentvolumeclaim', 'name', models.TextField()),
                migrations.AlterField('persistentvolumeclaim', 'phase', models.TextField(default='Pending')),
                migrations.AlterField('persistentvolumeclaim', 'storage_class', models.TextField()),
                migrations.AlterField('persistentvolumeclaim', 'request', models.TextField()),
                migrations.AlterField('persistentvolumeclaim', 'volume_name', models.TextField()),
                migrations.AlterField('storageclass', 'manifest', kscope.runs.manifests.fields.ManifestField()),
                migrations.AlterField('storageclass', 'namespace', models.TextField()),
                migrations.AlterField('storageclass', 'name', models.TextField()),
                migrations.AlterField('storageclass', 'provisioner', models.TextField()),
                migrations.AlterField('storageclass', 'binding_mode', models.TextField(default='Immediate')),
                migrations.AlterField('storageclass', 'reclaim_policy', models.TextField(default='Delete')),
            ],
        ),
        raise_format(8),
    ]
