import django.db.models.deletion
from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0026_record_in_chunks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='checkpoint',
            name='view',
            field=models.BinaryField(default=b'', help_text='zlib over the JSON of the view state; empty: none'),
        ),
        migrations.AlterField(
            model_name='checkpoint',
            name='view_digest',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.CreateModel(
            name='Keyframe',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('seq', models.BigIntegerField()),
                ('at', models.BigIntegerField()),
                ('levels', models.JSONField()),
                ('samples', models.JSONField(null=True)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='keyframes', to='runs.run')),
            ],
            options={
                'ordering': ('run_id', 'seq'),
            },
        ),
        migrations.CreateModel(
            name='ViewChunk',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'digest', blank=True, editable=False, primary_key=True, serialize=False)),
                ('digest', models.CharField(max_length=32)),
                ('body', models.BinaryField(help_text='zlib')),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
            ],
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('question', models.CharField(max_length=64)),
                ('parts', models.BinaryField(help_text='zlib')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'question'), name='keptanswer_run_question')],
            },
        ),
        # An older version would take an empty view for the state of a checkpoint.
        raise_format(4),
    ]
