"""The language that a user has chosen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    # A version that does not know the column leaves it empty.
    older_versions_go_on = True

    dependencies = [("accounts", "0002_identities")]

    operations = [
        migrations.AddField(
            model_name="account",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        )
    ]
