"""Manifests of rows are packed; what is there stays readable as the text that it is.

Columns that were generated from a manifest keep their values, and are written with it from now on.
"""

import django.db.models.deletion
import kscope.runs.manifests.fields
from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0036_removed_nodes'),
    ]

    operations = [
        migrations.CreateModel(
            name='ManifestDictionary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('kind', models.TextField()),
                ('digest', models.BinaryField()),
                ('content', models.BinaryField()),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'id'),
                'indexes': [models.Index(fields=['run', 'seq'], name='dictionary_run_seq')],
                'constraints': [models.UniqueConstraint(fields=('digest', 'run'), name='dictionary_digest_run')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE runs_otherobject"
                    " ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION, ALTER kind DROP EXPRESSION;"
                    "ALTER TABLE runs_otherobject ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8');"
                    "ALTER TABLE runs_removedobject ALTER manifest TYPE bytea"
                    r" USING '\x00'::bytea || convert_to(manifest::text, 'UTF8')"
                ),
            ],
            state_operations=[
                migrations.AlterField('otherobject', 'manifest', kscope.runs.manifests.fields.ManifestField()),
                migrations.AlterField('otherobject', 'namespace', models.TextField()),
                migrations.AlterField('otherobject', 'name', models.TextField()),
                migrations.AlterField('otherobject', 'kind', models.TextField()),
                migrations.AlterField('removedobject', 'manifest', kscope.runs.manifests.fields.ManifestField()),
            ],
        ),
        # Those that are there stay packed by zlib.
        migrations.AlterField(
            model_name='checkpoint',
            name='engine',
            field=models.BinaryField(help_text="zstd over the engine's own pickle; zlib before format 8"),
        ),
        # An older version takes every manifest for jsonb.
        raise_format(8),
    ]
