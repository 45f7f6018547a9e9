import django.db.models.deletion
from django.db import migrations, models

import kscope.runs.models


class Migration(migrations.Migration):

    # An older version knows no lessons: it lists the scenarios and runs of lessons with the others.
    older_versions_go_on = True

    dependencies = [
        ('runs', '0021_configuration'),
    ]

    operations = [
        migrations.AddField(
            model_name='scenario',
            name='is_of_lessons',
            field=models.BooleanField(db_default=False, help_text='there for lessons alone; no list of scenarios has it'),
        ),
        migrations.AddField(
            model_name='run',
            name='is_of_lessons',
            field=models.BooleanField(db_default=False, help_text='made for lessons to be told of; no list of runs has it'),
        ),
        migrations.CreateModel(
            name='Lesson',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(help_text='its address', max_length=130, unique=True)),
                ('is_shipped', models.BooleanField(default=False)),
                ('position', models.IntegerField(default=0, help_text='order in the list')),
                ('document', models.JSONField(decoder=kscope.runs.models.StoredJSON)),
                ('file', models.TextField()),
                ('number', models.IntegerField(help_text='of the document in its file')),
                ('line', models.IntegerField()),
                ('lines', models.JSONField(default=dict, help_text='line by field')),
                ('scenario', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lessons', to='runs.scenario')),
            ],
            options={
                'ordering': ('-is_shipped', 'position', 'id'),
            },
        ),
    ]
