"""The data of Secrets are sealed in a table of their own, beside the history of a run."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    older_versions_go_on = True

    dependencies = [
        ('runs', '0032_sentences_of_runs'),
    ]

    operations = [
        migrations.CreateModel(
            name='SealedData',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.TextField()),
                ('sealed', models.BinaryField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'token'),
                'constraints': [models.UniqueConstraint(fields=('run', 'token'), name='sealeddata_token')],
            },
        ),
    ]
