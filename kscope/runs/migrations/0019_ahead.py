"""What clocks of a run show. An older version cannot read the document of a scenario with an instant."""

from django.db import migrations, models

from kscope.database_format import raise_format


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0018_triage'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='ahead',
            field=models.BigIntegerField(help_text='nanoseconds that clocks show after 2026-01-01 when it begins; null for none', null=True),
        ),
        raise_format(2),
    ]
