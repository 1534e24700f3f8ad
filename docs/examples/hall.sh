# Creates the hall that the pages about seats use, in a new session.
source docs/examples/demo.sh
EVENT=$(api $BASE/api/events -d '{"name": "Winter Quartets", "currency": "EUR"}' | pick event_id)
NIGHT=$(api $BASE/api/sessions -d '{"event_id": "'$EVENT'", "name": "First concert"}' | pick session_id)
ADULT=$(api $BASE/api/ticket-types -d '{"session_id": "'$NIGHT'", "name": "Adult",
  "price": 4000, "is_seated": true}' | pick ticket_type_id)
CHILD=$(api $BASE/api/ticket-types -d '{"session_id": "'$NIGHT'", "name": "Child",
  "price": 1500, "is_seated": true}' | pick ticket_type_id)
api $BASE/api/sessions/$NIGHT/seats -d '{"blocks": [
  {"name": "Stalls", "rows": {"from": "A", "to": "C"}, "seats_per_row": 8,
   "numbering": "odd_even", "aisles_after": [4],
   "gaps": ["A7", "A8"], "accessible": ["C7"], "companion": ["C5"],
   "ticket_types": [{"ticket_type_id": "'$ADULT'", "price": 4000},
                    {"ticket_type_id": "'$CHILD'", "price": 1500}]},
  {"name": "Balcony", "rows": ["1", "2"], "seats_per_row": 6,
   "numbering": "right", "restricted_view": ["1-1", "2-1"], "capacity": 10,
   "ticket_types": [{"ticket_type_id": "'$ADULT'", "price": 2500}]},
  {"name": "Boxes", "rows": ["1"], "seats_per_row": 4, "aisles_after": [2], "accessible": ["1-3"],
   "rank": 9, "ticket_types": [{"ticket_type_id": "'$ADULT'", "price": 6000}]}
]}' > imported.json
block() { python3 -c 'import json, sys
print(*(b["block_id"] for b in json.load(open("imported.json"))["blocks"] if b["name"] == sys.argv[1]))' "$1"; }
STALLS=$(block Stalls)
BALCONY=$(block Balcony)
BOXES=$(block Boxes)
# `seat Stalls B-2` prints the id of a seat.
api $BASE/api/sessions/$NIGHT/seats | python3 -c '
import json, sys
for block in json.load(sys.stdin)["blocks"]:
    for row in block["rows"]:
        for number, end in zip(row["seat_numbers"], row["seat_id_suffixes"]):
            print(block["name"], row["row"] + "-" + number, row["seat_id_prefix"] + end)' > seats.txt
seat() { awk -v block="$1" -v name="$2" '$1 == block && $2 == name {print $3}' seats.txt; }
# `take ann Stalls B-2 B-4` holds these seats for ann, and writes the answer to ann.json.
take() {
  local user=$1 block=$2 ids=
  shift 2
  for name in "$@"; do ids="$ids${ids:+, }\"$(seat "$block" "$name")\""; done
  api $BASE/api/holds -d '{"session_id": "'$NIGHT'", "user_id": "'$user'", "seat_ids": ['"$ids"']}' > $user.json
}
# `best eve $ADULT '"quantity": 2'` asks for the best seats; `seats_of` lists the seats of an answer.
best() { api $BASE/api/holds -d '{"session_id": "'$NIGHT'", "user_id": "'$1'", "ticket_type_id": "'$2'", '"$3"'}'; }
seats_of() { python3 -c '
import json, sys
hold = json.load(sys.stdin)
if "error" in hold:
    sys.exit(hold["error"] + ": " + hold["message"])
seats = [line["seat"] for line in hold["lines"] if "seat" in line]
names = [seat["block_name"] + " " + seat["row"] + "-" + seat["seat_number"] for seat in seats]
how = " side by side" if hold.get("adjacent") else " apart"
print(", ".join(names) + (how if len(seats) > 1 else ""))'; }
