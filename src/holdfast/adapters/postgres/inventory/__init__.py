"""The inventory that is another service, as far as it is kept in the database."""
