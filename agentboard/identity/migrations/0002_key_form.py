from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("identity", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="agentkey",
            name="form",
            field=models.CharField(blank=True, editable=False, max_length=32, null=True, unique=True),
        ),
    ]
