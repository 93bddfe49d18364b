#!/bin/sh
# Takes the arguments of Claude Code and puts out its lines: for the first line of its prompt `done: …`. While that
# line stands in the file `waiting` of its folder it waits, and when it stands in `broken` it fails.
task=$(head -n 1)
cat >/dev/null
session=
while [ $# -gt 0 ]; do
  [ "$1" = --session-id ] && session=$2
  shift
done
# Each call, for those who count them.
printf '%s\n' "$session" >>calls
put() { printf '{"type":"%s","subtype":"%s","session_id":"%s",%s}\n' "$1" "$2" "$session" "$3"; }
put system init '"model":"scripted"'
while grep -qxF "$task" waiting 2>/dev/null; do sleep 0.05; done
if grep -qxF "$task" broken 2>/dev/null; then
  put result error_during_execution "\"is_error\":true,\"errors\":[\"$task is broken\"]"
else
  put result success "\"is_error\":false,\"result\":\"done: $task\""
fi
