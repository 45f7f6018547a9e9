"""The lists of a scenario's document, and its evidence, move into pieces."""

import zlib

import django.db.models.deletion
import kscope.runs.models
from django.db import migrations, models

from kscope.database_format import raise_format

_PARTS = {
    "runs_scenario": ("id", "header", ("objects", "steps", "outside")),
    "runs_keptevidence": ("scenario_id", "objects_aside", (None,)),
}
_ITEMS = 500


def split(apps, schema_editor):
    """Item by item: no document is ever a whole one here."""
    link = schema_editor.connection.connection
    for table, (key, column, parts) in _PARTS.items():
        found = link.execute(f"SELECT {key} FROM {table} ORDER BY 1").fetchall()
        for (scenario,) in found:
            for part in parts:
                _keep(link, scenario, part or column, _ITEMS_OF.format(
                    key=key, table=table, items=f"{column}->'{part}'" if part else column
                ))
    link.execute("UPDATE runs_scenario SET header = header - ARRAY['objects', 'steps', 'outside']")


_ITEMS_OF = (
    "SELECT item::text FROM {table}, jsonb_array_elements("
    "  CASE jsonb_typeof({items}) WHEN 'array' THEN {items} ELSE '[]' END"
    " ) WITH ORDINALITY AS each (item, place) WHERE {key} = %s ORDER BY place"
)
_INSERT = (
    "INSERT INTO runs_scenariopiece (scenario_id, part, place, count, lines)"
    " VALUES (%s, %s, %s, %s, %s)"
)


def _keep(link, scenario, part, items):
    with link.cursor(name="items") as cursor:
        cursor.itersize = _ITEMS
        cursor.execute(items, [scenario])
        place = 0
        while rows := cursor.fetchmany(_ITEMS):
            text = "\n".join(text for (text,) in rows)
            lines = zlib.compress(text.encode(), 1)
            link.execute(_INSERT, [scenario, part, place, len(rows), lines])
            place += 1


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0027_keyframes'),
    ]

    operations = [
        migrations.RenameField(
            model_name='scenario',
            old_name='document',
            new_name='header',
        ),
        migrations.AlterField(
            model_name='scenario',
            name='header',
            field=models.JSONField(decoder=kscope.runs.models.StoredJSON, help_text='what the engine is built from, without what its pieces hold'),
        ),
        migrations.CreateModel(
            name='ScenarioPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(max_length=20)),
                ('place', models.IntegerField()),
                ('count', models.IntegerField()),
                ('lines', models.BinaryField()),
                ('scenario', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='runs.scenario')),
            ],
            options={
                'ordering': ('scenario', 'part', 'place'),
                'constraints': [models.UniqueConstraint(fields=('scenario', 'part', 'place'), name='piece_of_scenario')],
            },
        ),
        # What is compressed already is stored as it is.
        migrations.RunSQL("ALTER TABLE runs_scenariopiece ALTER COLUMN lines SET STORAGE EXTERNAL"),
        migrations.RunPython(split),
        migrations.RemoveField(
            model_name='keptevidence',
            name='objects_aside',
        ),
        # An older version would find no objects in a scenario.
        raise_format(4),
    ]
