"""Events as arrays of up to 1,024 of them in a row, which PostgreSQL compresses: docs/adr/0046."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kscope.database_format import raise_format

MARKS = """
CREATE FUNCTION event_marks(kinds text[], entities text[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(DISTINCT ('x' || left(md5(word), 8))::bit(32)::integer)
    FROM (SELECT DISTINCT unnest(kinds || entities)) AS words (word)
$$
"""

# The order within a run, and runs without gaps: else the events of a row could not be numbered.
FILL = """
INSERT INTO runs_eventchunk (run_id, first_seq, last_seq, first_at, last_at, ats, kinds, entities,
    components, causes, messages, datas, changes, marks)
SELECT run_id, min(seq), max(seq), min(at), max(at), array_agg(at ORDER BY seq),
    array_agg(kind ORDER BY seq), array_agg(object ORDER BY seq),
    array_agg(component ORDER BY seq), array_agg((seq - cause)::integer ORDER BY seq),
    array_agg(message ORDER BY seq), array_agg(data::text ORDER BY seq),
    array_agg(changes::text ORDER BY seq), event_marks(array_agg(kind), array_agg(object))
FROM (SELECT *, seq - row_number() OVER (PARTITION BY run_id ORDER BY seq) AS gap
      FROM runs_runevent) AS event
GROUP BY run_id, (seq - 1) / 1024, gap
"""

VIEW = """
CREATE VIEW runs_runevent AS
SELECT chunk.run_id, chunk.first_seq + event.place - 1 AS seq, event.at, event.kind, event.object,
    event.component, chunk.first_seq + event.place - 1 - event.distance AS cause, event.message,
    event.data::jsonb AS data, event.change::jsonb AS changes,
    event.data AS data_text, event.change AS changes_text,
    chunk.first_seq, chunk.last_seq, chunk.first_at, chunk.last_at, chunk.marks
FROM runs_eventchunk AS chunk CROSS JOIN LATERAL unnest(chunk.ats, chunk.kinds, chunk.entities,
    chunk.components, chunk.causes, chunk.messages, chunk.datas, chunk.changes) WITH ORDINALITY
    AS event (at, kind, object, component, distance, message, data, change, place)
"""

RECORD = """
CREATE VIEW runs_eventrecord AS
SELECT run_id || '-' || seq AS id, * FROM runs_runevent
"""

# PostgreSQL puts the query of such a function in the place of its call, so that it opens only the
# rows in which there can be such events. No row goes beyond a multiple of 1,024.
FUNCTIONS = (
    """
CREATE FUNCTION events_between(run bigint, after bigint, upto bigint) RETURNS SETOF runs_runevent
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM runs_runevent AS event
    WHERE event.run_id = run AND event.seq > after AND event.seq <= upto
        AND event.last_seq > after AND event.last_seq < upto + 1024 AND event.first_seq <= upto
$$
""",
    """
CREATE FUNCTION events_of_kinds(run bigint, after bigint, upto bigint, names text[])
RETURNS SETOF runs_runevent LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM runs_runevent AS event
    WHERE event.run_id = run AND event.seq > after AND event.seq <= upto AND event.kind = ANY(names)
        AND event.last_seq > after AND event.last_seq < upto + 1024 AND event.first_seq <= upto
        AND event.marks && event_marks(names, '{}')
$$
""",
    # A single event, column by column: what is not asked for is not even read.
    """
CREATE FUNCTION event_at(run bigint, number bigint) RETURNS SETOF runs_runevent
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT chunk.run_id, number, chunk.ats[number - chunk.first_seq + 1],
        chunk.kinds[number - chunk.first_seq + 1], chunk.entities[number - chunk.first_seq + 1],
        chunk.components[number - chunk.first_seq + 1],
        number - chunk.causes[number - chunk.first_seq + 1],
        chunk.messages[number - chunk.first_seq + 1],
        chunk.datas[number - chunk.first_seq + 1]::jsonb,
        chunk.changes[number - chunk.first_seq + 1]::jsonb,
        chunk.datas[number - chunk.first_seq + 1], chunk.changes[number - chunk.first_seq + 1],
        chunk.first_seq, chunk.last_seq, chunk.first_at, chunk.last_at, chunk.marks
    FROM runs_eventchunk AS chunk
    WHERE chunk.run_id = run AND chunk.last_seq >= number AND chunk.last_seq < number + 1024
        AND chunk.first_seq <= number
$$
""",
)


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0024_imported_runs'),
    ]

    operations = [
        raise_format(4),
        migrations.CreateModel(
            name='EventChunk',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'last_seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('first_seq', models.BigIntegerField()),
                ('last_seq', models.BigIntegerField()),
                ('first_at', models.BigIntegerField()),
                ('last_at', models.BigIntegerField()),
                ('ats', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('entities', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('components', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('causes', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(null=True), size=None)),
                ('messages', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('datas', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(null=True), help_text='JSON, as jsonb has it', size=None)),
                ('changes', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(null=True), help_text='JSON, likewise', size=None)),
                ('marks', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'last_seq'),
                'indexes': [models.Index(fields=['run', 'first_at', 'last_seq'], name='eventchunk_at')],
            },
        ),
        migrations.RunSQL(MARKS),
        migrations.RunSQL(FILL),
        migrations.RunSQL("DROP VIEW runs_eventrecord"),
        migrations.DeleteModel(name='RunEvent'),
        migrations.RunSQL(VIEW),
        migrations.RunSQL(RECORD),
        *(migrations.RunSQL(each) for each in FUNCTIONS),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('seq', models.BigIntegerField()),
                ('at', models.BigIntegerField()),
                ('kind', models.TextField()),
                ('object', models.TextField()),
                ('component', models.TextField()),
                ('cause', models.BigIntegerField(null=True)),
                ('message', models.TextField()),
                ('data', models.JSONField(null=True)),
                ('changes', models.JSONField(null=True)),
                ('last_seq', models.BigIntegerField()),
                ('pk', models.CompositePrimaryKey('run_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
            ],
            options={
                'db_table': 'runs_runevent',
                'ordering': ('run_id', 'last_seq', 'seq'),
                'managed': False,
            },
        ),
        migrations.AlterModelOptions(
            name='eventrecord',
            options={'managed': False, 'ordering': ('-run_id', '-last_seq', '-seq'), 'verbose_name': 'event'},
        ),
    ]
