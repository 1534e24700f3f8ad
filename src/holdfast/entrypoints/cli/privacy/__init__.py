"""Commands about personal data."""
