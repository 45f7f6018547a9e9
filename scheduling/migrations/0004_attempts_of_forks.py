"""What was a table of attempts is a view of it, in which forks have those of their ancestors."""

import django.db.models.deletion
from django.db import migrations, models


VIEW = """
CREATE VIEW scheduling_schedulingattempt AS
SELECT attempt.id, part.run_id, attempt.pod, attempt.number, attempt.seq, attempt.at, attempt.cycle,
    attempt.result, attempt.node, attempt.evidence
FROM runs_runpart AS part JOIN scheduling_recordedattempt AS attempt
    ON attempt.run_id = part.source AND attempt.seq > part.after AND attempt.seq <= part.upto
"""

_RUN = {
    'db_constraint': False,
    'db_index': False,
    'on_delete': django.db.models.deletion.DO_NOTHING,
    'related_name': '+',
    'to': 'runs.run',
}


class Migration(migrations.Migration):

    # The migration of runs that this one follows keeps them away.
    older_versions_go_on = True

    dependencies = [
        ('scheduling', '0003_old_zone_labels'),
        ('runs', '0030_forks_are_pointers'),
    ]

    operations = [
        migrations.RenameModel('SchedulingAttempt', 'RecordedAttempt'),
        migrations.AlterField(
            model_name='recordedattempt',
            name='run',
            field=models.ForeignKey(**_RUN),
        ),
        migrations.RunSQL(VIEW),
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
                ('run', models.ForeignKey(**_RUN)),
            ],
            options={
                'db_table': 'scheduling_schedulingattempt',
                'ordering': ('run_id', 'id'),
                'managed': False,
            },
        ),
    ]
