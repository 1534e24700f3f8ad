"""E-mails to buyers: the texts of organizations, and mails that staff send again."""
