"""E-mails to buyers."""
