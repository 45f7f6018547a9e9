"""Forks read the rows of their ancestors: docs/adr/0048. Older forks have rows of their own."""

import django.db.models.deletion
from django.db import migrations, models

from kscope.database_format import raise_format

# A run that is gone has no parts: nobody sees its events any more, whoever still reads some.
PARTS = """
CREATE VIEW runs_runpart AS
SELECT id AS run_id, id AS source, (-1)::bigint AS after, 9223372036854775807 AS upto FROM runs_run
UNION ALL
SELECT run_id, source, after, upto FROM runs_historypart WHERE upto > after
"""

DROP = """
DROP FUNCTION events_between(bigint, bigint, bigint);
DROP FUNCTION events_of_kinds(bigint, bigint, bigint, text[]);
DROP FUNCTION event_at(bigint, bigint);
DROP VIEW runs_eventrecord;
DROP VIEW runs_runevent;
"""

# PostgreSQL expects half of the events to meet a CASE, and a ninth to meet two comparisons: that few
# would be sorted sooner than read in order.
VIEW = """
CREATE VIEW runs_runevent AS
SELECT part.run_id, chunk.first_seq + event.place - 1 AS seq, event.at, event.kind, event.object,
    event.component, chunk.first_seq + event.place - 1 - event.distance AS cause, event.message,
    event.data::jsonb AS data, event.change::jsonb AS changes,
    event.data AS data_text, event.change AS changes_text,
    chunk.first_seq, chunk.last_seq, chunk.first_at, chunk.last_at, chunk.marks,
    part.source, part.after, part.upto
FROM runs_runpart AS part JOIN runs_eventchunk AS chunk ON chunk.run_id = part.source
    AND CASE WHEN chunk.last_seq > part.after THEN chunk.first_seq <= part.upto ELSE false END
    CROSS JOIN LATERAL unnest(chunk.ats, chunk.kinds, chunk.entities,
    chunk.components, chunk.causes, chunk.messages, chunk.datas, chunk.changes) WITH ORDINALITY
    AS event (at, kind, object, component, distance, message, data, change, place)
WHERE CASE WHEN chunk.first_seq + event.place - 1 > part.after
    THEN chunk.first_seq + event.place - 1 <= part.upto ELSE false END
"""

RECORD = """
CREATE VIEW runs_eventrecord AS
SELECT run_id || '-' || seq AS id, * FROM runs_runevent
"""

FUNCTIONS = (
    """
CREATE FUNCTION events_between(run bigint, after bigint, upto bigint) RETURNS SETOF runs_runevent
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM runs_runevent AS event
    WHERE event.run_id = run AND event.seq > events_between.after
        AND event.seq <= events_between.upto
        AND event.after < events_between.upto AND event.upto > events_between.after
        AND event.last_seq > events_between.after AND event.last_seq < events_between.upto + 1024
        AND event.first_seq <= events_between.upto
$$
""",
    """
CREATE FUNCTION events_of_kinds(run bigint, after bigint, upto bigint, names text[])
RETURNS SETOF runs_runevent LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM runs_runevent AS event
    WHERE event.run_id = run AND event.seq > events_of_kinds.after
        AND event.seq <= events_of_kinds.upto AND event.kind = ANY(names)
        AND event.after < events_of_kinds.upto AND event.upto > events_of_kinds.after
        AND event.last_seq > events_of_kinds.after AND event.last_seq < events_of_kinds.upto + 1024
        AND event.first_seq <= events_of_kinds.upto
        AND event.marks && event_marks(names, '{}')
$$
""",
    # A single event, column by column: what is not asked for is not even read.
    """
CREATE FUNCTION event_at(run bigint, number bigint) RETURNS SETOF runs_runevent
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT part.run_id, number, chunk.ats[number - chunk.first_seq + 1],
        chunk.kinds[number - chunk.first_seq + 1], chunk.entities[number - chunk.first_seq + 1],
        chunk.components[number - chunk.first_seq + 1],
        number - chunk.causes[number - chunk.first_seq + 1],
        chunk.messages[number - chunk.first_seq + 1],
        chunk.datas[number - chunk.first_seq + 1]::jsonb,
        chunk.changes[number - chunk.first_seq + 1]::jsonb,
        chunk.datas[number - chunk.first_seq + 1], chunk.changes[number - chunk.first_seq + 1],
        chunk.first_seq, chunk.last_seq, chunk.first_at, chunk.last_at, chunk.marks,
        part.source, part.after, part.upto
    FROM runs_runpart AS part JOIN runs_eventchunk AS chunk ON chunk.run_id = part.source
    WHERE part.run_id = run AND part.after < number AND part.upto >= number
        AND chunk.last_seq >= number AND chunk.last_seq < number + 1024
        AND chunk.first_seq <= number
$$
""",
)


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0029_driver_deaths'),
    ]

    operations = [
        # An older version would find forks without a beginning.
        raise_format(5),
        migrations.AddField(
            model_name='run',
            name='borrowed_seq',
            field=models.BigIntegerField(db_default=-1, default=-1, help_text='events up to this one are read of its ancestors; -1 for none'),
        ),
        migrations.CreateModel(
            name='HistoryPart',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'source', blank=True, editable=False, primary_key=True, serialize=False)),
                ('source', models.BigIntegerField(db_index=True)),
                ('after', models.BigIntegerField()),
                ('upto', models.BigIntegerField()),
                ('owner', models.BigIntegerField(help_text='account of the source', null=True)),
                ('created', models.DateTimeField(help_text='when the source was made')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'upto'),
            },
        ),
        migrations.AlterField(
            model_name='eventchunk',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='runs.run'),
        ),
        migrations.AlterField(
            model_name='checkpoint',
            name='run',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='checkpoints', to='runs.run'),
        ),
        migrations.AlterField(
            model_name='keyframe',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='keyframes', to='runs.run'),
        ),
        migrations.AlterField(
            model_name='viewchunk',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='runs.run'),
        ),
        migrations.AlterField(
            model_name='removedobject',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='runs.run'),
        ),
        migrations.RunSQL(PARTS),
        migrations.RunSQL(DROP),
        migrations.RunSQL(VIEW),
        migrations.RunSQL(RECORD),
        *(migrations.RunSQL(each) for each in FUNCTIONS),
        migrations.AlterModelOptions(
            name='runevent',
            options={'managed': False, 'ordering': ('run_id', 'seq')},
        ),
        migrations.AlterModelOptions(
            name='eventrecord',
            options={'managed': False, 'ordering': ('-run_id', '-seq'), 'verbose_name': 'event'},
        ),
    ]
