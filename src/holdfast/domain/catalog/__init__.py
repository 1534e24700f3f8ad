"""What is for sale: events, sessions, ticket types, pools and blocks, and importing seats."""
