#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { text } from "node:stream/consumers";

/*
 * A replacement for Claude Code with the same arguments and output. Executes its task as a shell script, and answers
 * with the script's output.
 */
const prompt = await text(process.stdin);
const [script = ""] = prompt.split("\n\nInputs:");
const { stderr, stdout } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
const put = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
put({ type: "system", subtype: "init", session_id: "s", model: "scripted" });
process.stderr.write(stderr);
put({
  type: "result",
  subtype: "success",
  is_error: false,
  session_id: "s",
  result: stdout + stderr,
});
