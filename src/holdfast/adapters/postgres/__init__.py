"""PostgreSQL: the tables, and the SQL of the engine and the readers."""
