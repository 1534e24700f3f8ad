"""The relay, the envelope of facts, and notices to buyers."""
