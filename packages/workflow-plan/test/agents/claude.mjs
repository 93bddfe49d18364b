#!/usr/bin/env node
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/*
 * A replacement for Claude Code with the same arguments and output. The first word of the prompt selects the action:
 * `say`, `wait` (until the file `go` exists), `write` (the named file), `fail-once`, `max-turns`, `nothing`, `empty`,
 * `odd`, `odd-error`, `flood`, `child`.
 */
const args = process.argv.slice(2);
const valueOf = (name) => args[args.indexOf(name) + 1] ?? null;
const resumed = args.includes("--resume") ? valueOf("--resume") : null;
const prompt = await text(process.stdin);
const interrupted = prompt.includes("was interrupted");
const words = (prompt.split("\n\n")[interrupted ? 1 : 0] ?? "").split(/\s+/);
const [what = ""] = words;
const note = (line) => appendFileSync(join(process.cwd(), "calls"), `${JSON.stringify(line)}\n`);
note({ words: words.join(" "), resumed, interrupted, session: valueOf("--session-id") });

const put = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const session_id = valueOf("--session-id");
put({ type: "system", subtype: "init", session_id, model: "scripted" });
const result = (more) =>
  put({ type: "result", subtype: "success", is_error: false, session_id, ...more });

if (what === "wait") {
  while (!existsSync(join(process.cwd(), "go"))) await new Promise((done) => setTimeout(done, 5));
  result({ result: "waited" });
} else if (what === "fail-once" && resumed === null) {
  result({ subtype: "error_during_execution", is_error: true, errors: ["it broke"] });
} else if (what === "max-turns") {
  // Older versions send this result without `is_error`.
  result({ subtype: "error_max_turns" });
} else if (what === "nothing") {
  process.exitCode = 0;
} else if (what === "empty") {
  result({ result: "" });
} else if (what.startsWith("odd")) {
  const good = { subtype: "success", is_error: false, result: "ODD" };
  const bad = { subtype: "error_during_execution", is_error: true, errors: ["ODD"] };
  const line = { type: "result", session_id, ...(what === "odd" ? good : bad) };
  const [before, after] = JSON.stringify(line).split("ODD");
  // A zero byte, half of a surrogate pair, invalid UTF-8, and incomplete JSON.
  const odd = [
    Buffer.from("a\\u0000b\\ud800c"),
    Buffer.from([0xff, 0xc3]),
    Buffer.from('{\\"d\\": ['),
  ];
  process.stdout.write(Buffer.concat([Buffer.from(before), ...odd, Buffer.from(`${after}\n`)]));
} else if (what === "flood") {
  for (let line = 0; line < 1000; line += 1) put({ type: "filler", text: "x".repeat(1000) });
  result({ result: "too much" });
} else if (what === "write") {
  appendFileSync(join(process.cwd(), words[1]), "WRITTEN=1\n");
  result({ result: `wrote ${words[1]}` });
} else if (what === "child") {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  note({ child: child.pid });
  await new Promise(() => undefined);
} else result({ result: `said ${words.slice(1).join(" ")}` });
