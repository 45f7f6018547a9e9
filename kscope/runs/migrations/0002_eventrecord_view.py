"""The events once more, as a view with a key of one column, for the admin."""

from django.db import migrations

CREATE = """
CREATE VIEW runs_eventrecord AS
SELECT run_id || '-' || seq AS id, run_id, seq, at, kind, object, component, cause, message,
       data, changes
FROM runs_runevent
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, "DROP VIEW runs_eventrecord")]
