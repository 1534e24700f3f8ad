"""PostgreSQL: the tables, the SQL that the engine and the readers speak, and the admin pages."""
