#!/bin/sh
# A quick tour with nothing but curl: run, keep, stream, files, a command in the background, an error, the end.
#
#     sh examples/curl/quick-tour.sh
#
# It prints (… is anything):
#
#     -- Python in the sandbox of chat group_123456
#     {"exit_code":0,…"key":"group_123456","incarnation":1,…"stdout":"42\n",…}
#     -- The same chat finds its file again, another chat does not
#     …"stdout":"hello\n","stderr":"",…
#     …"exit_code":1,…"stderr":"cat: note.txt: No such file or directory\n",…
#     -- Output as it comes
#     event: started
#     …
#     event: stdout
#     data: {"data":"one\n","seq":4}
#     …
#     event: stderr
#     data: {"data":"two\n","seq":8}
#     …
#     event: exit
#     …
#     -- A file up, and a part of it down
#     {"path":"/workspace/data/letters.txt","type":"file","size":26,…}
#     abcdef
#     -- A command that is left running, and followed from anywhere
#     {"execution_id":"exe_…
#     …
#     event: stdout
#     …"data":"tick\n","seq":5,…}
#     …
#     …"data":"tock\n","seq":10,…}
#     …
#     -- A mistake changes nothing and says what is wrong
#     {"type":"urn:holdfast:error:invalid_request","title":"colour: is not a known field",…}
#     -- The end
#     …"state":"closing",…
set -eu

URL=${HOLDFAST_URL:-http://127.0.0.1:5410}
KEY=${HOLDFAST_API_KEY:-$(cat "${HOLDFAST_HOME:-$HOME/.holdfast}/admin.key")}

# The key goes in by a file descriptor, so that it is in no list of processes.
api() {
  path=$1
  shift
  curl -sS -H @- "$URL$path" "$@" <<HEADERS
Authorization: Bearer $KEY
HEADERS
}
field() { printf '%s' "$2" | sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/'; }
say() { printf -- '-- %s\n' "$1"; }
chat() { printf '{"scope":"chat","variables":{"launcher_type":"group","launcher_id":%s},"command":"%s"}' "$1" "$2"; }

say 'Python in the sandbox of chat group_123456'
first=$(api /v1/exec -d "$(chat 123456 "python3 -c 'print(6*7)'")")
printf '%s\n' "$first"
SESSION=/v1/sessions/$(field id "$first")

say 'The same chat finds its file again, another chat does not'
api /v1/exec -d "$(chat 123456 'echo hello > note.txt')" > /dev/null
api /v1/exec -d "$(chat 123456 'cat note.txt')"
echo
api /v1/exec -d "$(chat 7 'cat note.txt')"
echo

say 'Output as it comes'
api /v1/exec -N -H 'Accept: text/event-stream' -d "$(chat 123456 'echo one; sleep 0.2; echo two >&2')"

say 'A file up, and a part of it down'
letters=$(mktemp)
trap 'rm -f "$letters"' EXIT
printf abcdefghijklmnopqrstuvwxyz > "$letters"
api "$SESSION/files?path=data/letters.txt" -T "$letters"
echo
api "$SESSION/files?path=data/letters.txt" -r 0-5
echo

say 'A command that is left running, and followed from anywhere'
started=$(api "$SESSION/executions" -d '{"command":"echo tick; sleep 0.5; echo tock"}')
printf '%s\n' "$started"
api "$SESSION/executions/$(field execution_id "$started")/output" -N -H 'Accept: text/event-stream'

say 'A mistake changes nothing and says what is wrong'
api /v1/sessions -d '{"key":"x","colour":"red"}'
echo

say 'The end'
api "$SESSION/release" -d '{}'
echo
