"""The module that Django imports: importing a subject registers its pages."""


__all__ = [
    *("access", "accounts", "audit", "catalog", "facts", "holds", "keys", "log_in", "members"),
    *("orders", "seats", "waitlist"),
]
