"""Redis or Valkey: a hint, never the truth."""
