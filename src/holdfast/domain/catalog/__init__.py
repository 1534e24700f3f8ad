"""The catalog: events, sessions, ticket types, pools, blocks and seat imports."""
