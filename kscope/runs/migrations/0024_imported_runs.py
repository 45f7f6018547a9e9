import django.db.models.deletion
import kscope.runs.models
from django.db import migrations, models


class Migration(migrations.Migration):

    # An older version plays a run that came as a file without holding it against the file.
    older_versions_go_on = True

    dependencies = [
        ('runs', '0023_stories'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImportedRun',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='imported', serialize=False, to='runs.run')),
                ('digest', models.CharField(max_length=64)),
                ('events', models.BigIntegerField()),
                ('written_by', models.CharField(blank=True, max_length=100)),
                ('withheld', models.JSONField(blank=True, default=list)),
                ('trail', models.BinaryField(blank=True, default=b'')),
                ('answers', models.JSONField(blank=True, decoder=kscope.runs.models.StoredJSON, default=list)),
                ('file', models.BinaryField(blank=True, null=True)),
                ('verdict', models.CharField(choices=[('playing', 'Playing'), ('same', 'Same'), ('parted', 'Parted')], default='playing', max_length=10)),
                ('parted_seq', models.BigIntegerField(blank=True, null=True)),
                ('mine', models.TextField(blank=True)),
                ('theirs', models.TextField(blank=True, null=True)),
            ],
        ),
    ]
