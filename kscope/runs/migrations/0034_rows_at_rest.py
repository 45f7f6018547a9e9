"""The rows of a run's objects may be those of an earlier event than its newest one."""

from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0033_sealed_data_of_secrets'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='rows_seq',
            field=models.BigIntegerField(blank=True, help_text='event that the rows of its objects are as of; null for the newest one, -1 before the first rows', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='rows_asked_at',
            field=models.DateTimeField(blank=True, help_text='when somebody wanted to read the rows of its objects last', null=True),
        ),
        # An older version takes every row for the newest, and leaves sealed data behind.
        raise_format(7),
    ]
