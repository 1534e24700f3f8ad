"""The catalog: events, sessions, ticket types, pools and blocks, and importing seats."""
