"""The texts of e-mails to buyers."""
