"""`manage.py serve` lives here."""
