"""Redis or Valkey: publishing and consuming messages through streams."""
