"""Which engine wrote a run, and whether retention spares it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0006_owners'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='kept',
            field=models.BooleanField(default=False, help_text='never deleted or thinned out by age'),
        ),
        migrations.AddField(
            model_name='run',
            name='lease_since',
            field=models.DateTimeField(help_text='when the newest owner took the run', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='engine_digest',
            field=models.CharField(blank=True, help_text='source of the engine that wrote the newest slice', max_length=64, default=''),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='run',
            name='differs_from',
            field=models.BigIntegerField(blank=True, help_text='first event that another engine decides differently', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='differs_for',
            field=models.CharField(blank=True, help_text='source of that engine', max_length=64, default=''),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='checkpoint',
            name='engine_digest',
            field=models.CharField(blank=True, help_text='source of the engine that wrote it', max_length=64, default=''),
            preserve_default=False,
        ),
    ]
