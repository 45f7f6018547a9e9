import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    # An older version shows demos without pictures, and runs without what they select and answer.
    older_versions_go_on = True

    dependencies = [
        ('runs', '0022_lessons'),
    ]

    operations = [
        migrations.CreateModel(
            name='Story',
            fields=[
                ('scenario', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='story', serialize=False, to='runs.scenario')),
                ('slug', models.CharField(help_text='its address', max_length=200)),
                ('engine_digest', models.CharField(help_text='source of the engine that played it', max_length=64)),
                ('end', models.BigIntegerField(help_text='virtual nanoseconds')),
                ('events', models.BigIntegerField()),
                ('drawing', models.TextField(help_text='SVG: pods and claims in time')),
                ('reasons', models.JSONField(default=list, help_text='what Kubernetes Events said in it')),
                ('replay', models.JSONField(default=dict, help_text='the run in motion')),
            ],
        ),
        migrations.AddField(
            model_name='scenario',
            name='told',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='topic, tags, select, answer and proof of its document, and of which run they are'),
        ),
    ]
