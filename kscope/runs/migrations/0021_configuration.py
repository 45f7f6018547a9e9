import kscope.runs.models
from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0020_report'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='configuration',
            field=models.JSONField(blank=True, decoder=kscope.runs.models.StoredJSON, help_text="of the scheduler, in place of the scenario's; null for that one", null=True),
        ),
        # An older version would compute such a run with the configuration of its scenario.
        raise_format(3),
    ]
