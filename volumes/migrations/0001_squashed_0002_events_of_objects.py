"""All tables as they are since 0002_events_of_objects, made at once.

A new database gets them in a fraction of the time that the migrations before take one by one; a
database that has some of those goes on with the others.
"""

import django.db.models.deletion
import django.db.models.functions.comparison
import kscope.runs.models
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('volumes', '0001_initial'),
        ('volumes', '0002_events_of_objects'),
    ]

    initial = True

    dependencies = [
        ('runs', '0001_squashed_0014_external_scheduler'),
    ]

    operations = [
        migrations.CreateModel(
            name='PersistentVolume',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME, or NAME')),
                ('manifest', models.JSONField()),
                ('created_seq', models.BigIntegerField(default=0, help_text='of the event that created it')),
                ('seq', models.BigIntegerField(default=0, help_text='of the newest event that wrote it')),
                ('namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('phase', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('status', 'phase'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('storage_class', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'storageClassName'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('capacity', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'capacity', 'storage'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('claim_namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'claimRef', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('claim_name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'claimRef', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'verbose_name': 'volume',
                'ordering': ('run_id', 'key'),
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='persistentvolume_run_key')],
            },
        ),
        migrations.CreateModel(
            name='PersistentVolumeClaim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME, or NAME')),
                ('manifest', models.JSONField()),
                ('created_seq', models.BigIntegerField(default=0, help_text='of the event that created it')),
                ('seq', models.BigIntegerField(default=0, help_text='of the newest event that wrote it')),
                ('namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('phase', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('status', 'phase'), models.Value('Pending', output_field=models.TextField())), output_field=models.TextField())),
                ('storage_class', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'storageClassName'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('request', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'resources', 'requests', 'storage'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('volume_name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'volumeName'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'verbose_name': 'claim',
                'ordering': ('run_id', 'key'),
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='persistentvolumeclaim_run_key')],
            },
        ),
        migrations.CreateModel(
            name='StorageClass',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME, or NAME')),
                ('manifest', models.JSONField()),
                ('created_seq', models.BigIntegerField(default=0, help_text='of the event that created it')),
                ('seq', models.BigIntegerField(default=0, help_text='of the newest event that wrote it')),
                ('namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('provisioner', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('provisioner'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('binding_mode', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('volumeBindingMode'), models.Value('Immediate', output_field=models.TextField())), output_field=models.TextField())),
                ('reclaim_policy', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('reclaimPolicy'), models.Value('Delete', output_field=models.TextField())), output_field=models.TextField())),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'verbose_name': 'class',
                'verbose_name_plural': 'classes',
                'ordering': ('run_id', 'key'),
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='storageclass_run_key')],
            },
        ),
    ]
