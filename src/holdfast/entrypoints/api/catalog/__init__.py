"""Events, sessions, ticket types, pools, blocks and seat imports."""
