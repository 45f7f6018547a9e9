from django.db import migrations, models


class Migration(migrations.Migration):

    # An older version leaves the column empty: how the files were read is not shown then.
    older_versions_go_on = True

    dependencies = [
        ('runs', '0019_ahead'),
    ]

    operations = [
        migrations.AddField(
            model_name='scenario',
            name='report',
            field=models.JSONField(blank=True, help_text='how its files were read: LoadResult.to_report; null for what was kept before', null=True),
        ),
    ]
