#!/bin/sh
# The image of PostgreSQL in compose.yaml runs it once, when the database is new. It creates the role of
# Masthead, which is no superuser, so that row-level security holds for it. The image's own superuser
# gets no password: it can't sign in over the network.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$MASTHEAD_PASSWORD" -U "$POSTGRES_USER" -d postgres <<'END'
CREATE ROLE masthead LOGIN PASSWORD :'password';
CREATE DATABASE masthead OWNER masthead;
ALTER ROLE CURRENT_USER PASSWORD NULL;
END
