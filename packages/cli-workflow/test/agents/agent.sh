#!/bin/sh
# A replacement for Claude Code with the same arguments and output. Answers the first line of its prompt with
# `done: …`. Waits while the file `waiting` in its folder contains that line, and fails when the file
# `broken` contains it.
task=$(head -n 1)
cat >/dev/null
session=
while [ $# -gt 0 ]; do
  [ "$1" = --session-id ] && session=$2
  shift
done
# Records each call, so that tests can count them.
printf '%s\n' "$session" >>calls
put() { printf '{"type":"%s","subtype":"%s","session_id":"%s",%s}\n' "$1" "$2" "$session" "$3"; }
put system init '"model":"scripted"'
while grep -qxF "$task" waiting 2>/dev/null; do sleep 0.05; done
if grep -qxF "$task" broken 2>/dev/null; then
  put result error_during_execution "\"is_error\":true,\"errors\":[\"$task is broken\"]"
else
  put result success "\"is_error\":false,\"result\":\"done: $task\""
fi
