#!/bin/sh
# Runs once, when the database is made: the login that everything but `migrate` connects with. It owns
# nothing, and has no right before it becomes one of the two roles.
set -eu
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set=password="$HOLDFAST_WEB_DB_PASSWORD" <<'SQL'
CREATE ROLE holdfast_app NOLOGIN NOBYPASSRLS;
CREATE ROLE holdfast_operator NOLOGIN NOBYPASSRLS;
CREATE ROLE web LOGIN NOINHERIT PASSWORD :'password' IN ROLE holdfast_app, holdfast_operator;
SQL
