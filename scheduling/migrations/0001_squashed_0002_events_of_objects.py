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
        ('scheduling', '0001_initial'),
        ('scheduling', '0002_events_of_objects'),
    ]

    initial = True

    dependencies = [
        ('runs', '0001_squashed_0014_external_scheduler'),
    ]

    operations = [
        migrations.CreateModel(
            name='Node',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME, or NAME')),
                ('manifest', models.JSONField()),
                ('created_seq', models.BigIntegerField(default=0, help_text='of the event that created it')),
                ('seq', models.BigIntegerField(default=0, help_text='of the newest event that wrote it')),
                ('namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('unschedulable', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Cast(django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'unschedulable'), models.Value('false', output_field=models.TextField())), models.BooleanField()), output_field=models.BooleanField())),
                ('zone', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'labels', 'topology.kubernetes.io/zone'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'key'),
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='node_run_key')],
            },
        ),
        migrations.CreateModel(
            name='Pod',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME, or NAME')),
                ('manifest', models.JSONField()),
                ('created_seq', models.BigIntegerField(default=0, help_text='of the event that created it')),
                ('seq', models.BigIntegerField(default=0, help_text='of the newest event that wrote it')),
                ('namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('node_name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'nodeName'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('nominated_node_name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('status', 'nominatedNodeName'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('phase', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('status', 'phase'), models.Value('Pending', output_field=models.TextField())), output_field=models.TextField())),
                ('scheduler_name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('spec', 'schedulerName'), models.Value('default-scheduler', output_field=models.TextField())), output_field=models.TextField())),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'key'),
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='pod_run_key')],
            },
        ),
        migrations.CreateModel(
            name='SchedulingAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pod', models.TextField(help_text='NAMESPACE/NAME')),
                ('number', models.IntegerField()),
                ('seq', models.BigIntegerField(help_text='of the event that ended it')),
                ('at', models.BigIntegerField()),
                ('cycle', models.BigIntegerField()),
                ('result', models.TextField()),
                ('node', models.TextField(blank=True)),
                ('evidence', models.BinaryField(null=True)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'id'),
                'indexes': [models.Index(fields=['run', 'pod', 'number'], name='attempt_pod')],
            },
        ),
    ]
