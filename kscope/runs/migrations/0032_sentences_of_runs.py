"""Why a run failed or stopped is kept as a sentence that can be said in any language."""

import kscope.runs.languages.kept
from django.db import migrations


class Migration(migrations.Migration):
    older_versions_go_on = True

    dependencies = [
        ('runs', '0031_clock_of_clients'),
    ]

    operations = [
        migrations.AlterField(
            model_name='run',
            name='error',
            field=kscope.runs.languages.kept.SentenceField(blank=True),
        ),
        migrations.AlterField(
            model_name='run',
            name='stop_reason',
            field=kscope.runs.languages.kept.SentenceField(blank=True),
        ),
    ]
