"""All tables as they are since 0014_external_scheduler, made at once.

A new database gets them in a fraction of the time that the migrations before take one by one; a
database that has some of those goes on with the others.
"""

import django.db.models.deletion
import django.db.models.functions.comparison
import kscope.runs.models
from django.conf import settings
from django.db import migrations, models


VIEW = """
CREATE VIEW runs_eventrecord AS
SELECT run_id || '-' || seq AS id, run_id, seq, at, kind, object, component, cause, message,
       data, changes
FROM runs_runevent
"""


class Migration(migrations.Migration):

    replaces = [
        ('runs', '0001_initial'),
        ('runs', '0002_eventrecord_view'),
        ('runs', '0003_no_index_of_times'),
        ('runs', '0004_numbers_of_go'),
        ('runs', '0005_forks'),
        ('runs', '0006_owners'),
        ('runs', '0007_operations'),
        ('runs', '0008_budgets'),
        ('runs', '0009_trials'),
        ('runs', '0010_feature_gates'),
        ('runs', '0011_newest_profile'),
        ('runs', '0012_events_of_objects'),
        ('runs', '0013_leases_of_clients'),
        ('runs', '0014_external_scheduler'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Scenario',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('visibility', models.CharField(choices=[('private', 'private: only its owner'), ('shared', 'shared: every account'), ('public', 'public: all visitors')], default='private', max_length=7)),
                ('name', models.CharField(max_length=200)),
                ('question', models.TextField(blank=True)),
                ('digest', models.CharField(max_length=64)),
                ('is_demo', models.BooleanField(default=False)),
                ('position', models.IntegerField(default=0, help_text='order in the gallery')),
                ('document', models.JSONField(decoder=kscope.runs.models.StoredJSON, help_text='what the engine is built from')),
                ('summary', models.JSONField(default=dict, help_text='number of objects by kind')),
                ('not_modelled', models.JSONField(blank=True, default=list, help_text='kinds of its files that a run leaves out, and with what effect')),
                ('bytes', models.BigIntegerField(default=0, help_text='of the document; counts for the quota')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(blank=True, help_text='empty for what is made where no login is required', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='%(class)ss', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-is_demo', 'position', 'name', 'id'),
                'constraints': [models.UniqueConstraint(fields=('owner', 'digest'), name='scenario_owner_digest', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('visibility', models.CharField(choices=[('private', 'private: only its owner'), ('shared', 'shared: every account'), ('public', 'public: all visitors')], default='private', max_length=7)),
                ('name', models.CharField(max_length=200)),
                ('profile', models.CharField(default='v1.36', max_length=20)),
                ('feature_gates', models.JSONField(blank=True, default=dict, help_text="feature gates that differ from the profile's defaults")),
                ('external_scheduler', models.BooleanField(default=False, help_text='a client of its Kubernetes API decides where pods go')),
                ('seed', models.BigIntegerField(default=0)),
                ('tie_break', models.CharField(default='random', max_length=20)),
                ('status', models.CharField(choices=[('paused', 'Paused'), ('playing', 'Playing'), ('finished', 'Finished'), ('failed', 'Failed')], default='paused', max_length=10)),
                ('speed', models.CharField(choices=[('1', '1×'), ('10', '10×'), ('100', '100×'), ('max', 'as fast as possible')], default='1', max_length=4)),
                ('step_unit', models.CharField(blank=True, choices=[('event', 'Event'), ('cycle', 'Cycle')], max_length=5)),
                ('steps_wanted', models.IntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('head_seq', models.BigIntegerField(default=0)),
                ('head_at', models.BigIntegerField(default=0, help_text='virtual nanoseconds')),
                ('head_steps', models.BigIntegerField(default=0)),
                ('head_commands', models.IntegerField(default=0, help_text='commands carried out so far')),
                ('head_digest', models.CharField(blank=True, max_length=64)),
                ('next_at', models.BigIntegerField(null=True)),
                ('until', models.BigIntegerField(help_text='virtual time at which it is finished', null=True)),
                ('until_pod', models.TextField(blank=True, help_text='entity id; it plays until this pod is bound or refused')),
                ('trial', models.JSONField(blank=True, help_text='the change tried here, and what becomes of which pod, and when: docs/compare.md', null=True)),
                ('is_started', models.BooleanField(default=False, help_text='the engine was built once')),
                ('kept', models.BooleanField(default=False, help_text='never deleted or thinned out by age')),
                ('engine_digest', models.CharField(blank=True, help_text='source of the engine that wrote the newest slice', max_length=64)),
                ('differs_from', models.BigIntegerField(blank=True, help_text='first event that another engine decides differently', null=True)),
                ('differs_for', models.CharField(blank=True, help_text='source of that engine', max_length=64)),
                ('budget_events', models.BigIntegerField(default=2000000)),
                ('budget_objects', models.BigIntegerField(default=100000, help_text='at once')),
                ('budget_time', models.BigIntegerField(default=2592000000000000, help_text='virtual nanoseconds')),
                ('budget_memory', models.BigIntegerField(default=2147483648, help_text='bytes of the process that computes it')),
                ('head_objects', models.BigIntegerField(default=0, help_text='in the cluster at the head')),
                ('memory_used', models.BigIntegerField(default=0, help_text='bytes, when it was last measured')),
                ('stopped_by', models.CharField(blank=True, help_text='the part of its budget that is used up', max_length=10)),
                ('stop_reason', models.TextField(blank=True)),
                ('forked_seq', models.BigIntegerField(help_text="the parent's event it was made at", null=True)),
                ('forked_at', models.BigIntegerField(help_text='virtual nanoseconds', null=True)),
                ('goal_at', models.BigIntegerField(help_text='virtual nanoseconds; null once there', null=True)),
                ('goal_seq', models.BigIntegerField(help_text='null where the history is another one', null=True)),
                ('goal_steps', models.BigIntegerField(help_text='null for just after goal_seq', null=True)),
                ('lease_owner', models.CharField(blank=True, max_length=100)),
                ('lease_epoch', models.BigIntegerField(default=0)),
                ('lease_since', models.DateTimeField(help_text='when the newest owner took the run', null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(blank=True, help_text='empty for what is made where no login is required', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='%(class)ss', to=settings.AUTH_USER_MODEL)),
                ('scenario', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='runs.scenario')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='runs.run')),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='RemovedObject',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('seq', models.BigIntegerField()),
                ('created_seq', models.BigIntegerField(help_text='of the event that created it')),
                ('object', models.TextField(help_text='entity id')),
                ('manifest', models.JSONField()),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'seq'),
            },
        ),
        migrations.CreateModel(
            name='OtherObject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME, or NAME')),
                ('manifest', models.JSONField()),
                ('created_seq', models.BigIntegerField(default=0, help_text='of the event that created it')),
                ('seq', models.BigIntegerField(default=0, help_text='of the newest event that wrote it')),
                ('namespace', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'namespace'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('name', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('metadata', 'name'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('kind', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce(kscope.runs.models.ManifestText('kind'), models.Value('', output_field=models.TextField())), output_field=models.TextField())),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'key'),
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='otherobject_run_key')],
            },
        ),
        migrations.CreateModel(
            name='Command',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('body', models.JSONField(decoder=kscope.runs.models.StoredJSON)),
                ('verb', models.CharField(max_length=20)),
                ('object', models.TextField(blank=True)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('applied', 'Applied'), ('rejected', 'Rejected')], default='pending', max_length=10)),
                ('reason', models.TextField(blank=True)),
                ('ordinal', models.IntegerField(null=True)),
                ('position', models.BigIntegerField(null=True)),
                ('at', models.BigIntegerField(null=True)),
                ('outcome_seq', models.BigIntegerField(null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commands', to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'id'),
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['run', 'id'], name='command_pending')],
                'constraints': [models.UniqueConstraint(fields=('run', 'ordinal'), name='command_run_ordinal')],
            },
        ),
        migrations.CreateModel(
            name='ClientLease',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.TextField(help_text='NAMESPACE/NAME')),
                ('version', models.BigIntegerField()),
                ('manifest', models.JSONField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'key'),
                'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='clientlease_run_key')],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('at', models.BigIntegerField()),
                ('steps', models.BigIntegerField()),
                ('commands', models.IntegerField(help_text='commands carried out before it')),
                ('digest', models.CharField(help_text='of the history up to seq', max_length=64)),
                ('engine', models.BinaryField(help_text="zlib over the engine's own pickle")),
                ('view', models.BinaryField(help_text='zlib over the JSON of the view state')),
                ('view_digest', models.CharField(max_length=64)),
                ('engine_digest', models.CharField(blank=True, help_text='source of the engine that wrote it', max_length=64)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'seq'),
                'constraints': [models.UniqueConstraint(fields=('run', 'seq'), name='checkpoint_run_seq')],
            },
        ),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('seq', models.BigIntegerField()),
                ('at', models.BigIntegerField()),
                ('kind', models.TextField()),
                ('object', models.TextField()),
                ('component', models.TextField()),
                ('cause', models.BigIntegerField(null=True)),
                ('message', models.TextField()),
                ('data', models.JSONField(null=True)),
                ('changes', models.JSONField(null=True)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'seq'),
                'indexes': [models.Index(fields=['run', 'object', 'seq'], name='runevent_object'), models.Index(fields=['run', 'kind', 'seq'], name='runevent_kind'), models.Index(condition=models.Q(('data__contains', {'event': True})), fields=['run', 'seq'], name='runevent_kubernetes')],
            },
        ),
        migrations.CreateModel(
            name='EventRecord',
            fields=[
                ('id', models.TextField(help_text='run-seq', primary_key=True, serialize=False)),
                ('seq', models.BigIntegerField()),
                ('at', models.BigIntegerField()),
                ('kind', models.TextField()),
                ('object', models.TextField()),
                ('component', models.TextField()),
                ('cause', models.BigIntegerField(null=True)),
                ('message', models.TextField()),
                ('data', models.JSONField(null=True)),
                ('changes', models.JSONField(null=True)),
            ],
            options={
                'verbose_name': 'event',
                'db_table': 'runs_eventrecord',
                'ordering': ('-run_id', '-seq'),
                'managed': False,
            },
        ),
        migrations.RunSQL(VIEW, 'DROP VIEW runs_eventrecord'),
    ]
