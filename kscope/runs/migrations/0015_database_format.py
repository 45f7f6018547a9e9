"""The number by which a version of kscope knows whether it can read the database.

A migration after this one either has the operation `raise_format` too, or says with
`older_versions_go_on = True` that the version before it reads and writes what it leaves.
"""

from django.db import migrations, models

from kscope.database_format import TABLE, raise_format

CREATE = f"""
CREATE TABLE {TABLE} (
    number integer NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row)
);
INSERT INTO {TABLE} (number) VALUES (0);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0014_external_scheduler'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='building',
            field=models.JSONField(blank=True, help_text='how far its first state is: attempt, objects, of, seconds', null=True),
        ),
        migrations.RunSQL(CREATE, f'DROP TABLE {TABLE}'),
        raise_format(1),
    ]
