"""A run keeps how long it lasts, and when clients of its Kubernetes API used it last."""

from django.db import migrations, models

from kscope.database_format import raise_format

# As engine.input.scenario.duration_of: 600 s are the duration of those that name none.
_DURATIONS = (
    "UPDATE runs_run SET duration = (runs_scenario.header->>'until')::bigint FROM runs_scenario"
    " WHERE runs_scenario.id = runs_run.scenario_id"
    " AND (runs_scenario.header->>'until')::bigint <> 600000000000"
)


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0030_forks_are_pointers'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='duration',
            field=models.BigIntegerField(blank=True, help_text='virtual nanoseconds that it lasts, whether anything is due or not', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='used_at',
            field=models.DateTimeField(blank=True, help_text='when a client of its Kubernetes API used it last', null=True),
        ),
        migrations.RunSQL(_DURATIONS, migrations.RunSQL.noop),
        # An older version cannot read a scenario whose duration is the usual one and named.
        raise_format(6),
    ]
