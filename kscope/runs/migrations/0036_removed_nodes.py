"""Of many removed pods few are removed nodes, which those name: an index of these."""

from django.db import migrations, models


class Migration(migrations.Migration):
    older_versions_go_on = True

    dependencies = [
        ('runs', '0035_external_controllers'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='removedobject',
            index=models.Index(condition=models.Q(('object__startswith', 'node/')), fields=['run', 'seq'], name='removed_nodes'),
        ),
    ]
