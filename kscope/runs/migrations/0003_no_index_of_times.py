"""What happened when is found by halving the primary key: see ADR 0013."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_eventrecord_view")]

    operations = [migrations.RemoveIndex(model_name="runevent", name="runevent_at")]
