"""E-mails to buyers: their texts, and sending one again."""
