#!/usr/bin/env node
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { attemptsOf, workFolder } from "./attempts/attempt.mjs";

/*
 * A hostile replacement for Claude Code with the same arguments. Its prompt begins with a line of JSON that names
 * attempts and their targets. Each attempt runs in its own process. The answer is a list of
 * `{kind, name, outcome, detail}`, with these outcomes:
 *
 *   refused    the attempt failed
 *   escaped    the attempt got forbidden data or access
 *   done       the call succeeded; only a check outside of the sandbox shows whether it had an effect
 *   not tried  this machine lacks a requirement of the attempt
 */
const self = fileURLToPath(import.meta.url);
const args = process.argv.slice(2);
const longestMs = 60_000;

const put = (line) =>
  new Promise((resolve) => process.stdout.write(`${JSON.stringify(line)}\n`, resolve));

if (args[0] === "--version") console.log("2.0.0 (Claude Code)");
else if (args[0] === "--attempt") await attempt(args[1], JSON.parse(process.env.HOSTILE_TARGETS));
else await answer(JSON.parse((await text(process.stdin)).split("\n", 1)[0]));

async function attempt(name, targets) {
  const found = (await attemptsOf()).find((one) => one.name === name);
  await put(await found.run(targets));
  process.exit();
}

async function answer({ attempts, onRetry, targets }) {
  const session_id = args[args.indexOf("--session-id") + 1] ?? "s";
  await put({ type: "system", subtype: "init", session_id, model: "scripted" });
  const reports = [];
  for (const name of attempts) reports.push(await report(name, targets));
  const result = { type: "result", subtype: "success", is_error: false, session_id };
  // Fail the first time, so that the host prepares a retry with the files that this run left.
  const before = `${workFolder}/.attempted-` + attempts.join("-").replace(/\W+/g, "-");
  if (onRetry && !existsSync(before)) {
    writeFileSync(before, "");
    const errors = [JSON.stringify(reports)];
    await put({ ...result, subtype: "error_during_execution", is_error: true, errors });
  } else await put({ ...result, result: JSON.stringify(reports) });
  process.exit();
}

/** Runs an attempt in its own process, which may hang, crash, or print anything. Returns the report. */
async function report(name, targets) {
  const [kind] = name.split(": ");
  const given = JSON.stringify({ ...targets, agentArguments: args });
  const child = spawn(process.execPath, [self, "--attempt", name], {
    env: { ...process.env, HOSTILE_TARGETS: given },
    stdio: ["ignore", "pipe", "pipe", ...(kind === "output" ? [1] : [])],
  });
  let [printed, complaint] = ["", ""];
  child.stdout.on("data", (part) => (printed = (printed + part).slice(-100_000)));
  child.stderr.on("data", (part) => (complaint = (complaint + part).slice(-1000)));
  const timer = setTimeout(() => child.kill("SIGKILL"), longestMs);
  // Wait for the exit only, because processes that the attempt leaves behind keep its pipes open.
  const [code, signal] = await new Promise((resolve) => {
    child.once("exit", (...how) => setTimeout(() => resolve(how), 50));
    child.once("error", (error) => resolve([error.message]));
  });
  clearTimeout(timer);
  child.stdout.destroy();
  child.stderr.destroy();
  const last = printed.trimEnd().split("\n").pop();
  try {
    return { kind, name, ...JSON.parse(last) };
  } catch {
    const detail = `the attempt ended with ${signal ?? code} ${complaint.trim().slice(-200)}`;
    return { kind, name, outcome: "refused", detail };
  }
}
