"""`manage.py prepare`: the tables of the users, and two buyers."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, call_command

BUYERS = ("ada", "grace")
PASSWORD = "harbour"


class Command(BaseCommand):
    help = "Creates the SQLite database with the buyers ada and grace (password: harbour)."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        for name in BUYERS:
            if not User.objects.filter(username=name).exists():
                User.objects.create_user(name, f"{name}@example.com", PASSWORD)
