import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/* The registry of attempts, and helpers for attempts. */
const all = [];

/** The folder in the sandbox that all steps of a run share. */
export const workFolder = "/workspace/work";

/** The result of a call whose effect shows only outside of the sandbox. */
export class Done {
  constructor(detail) {
    this.detail = detail;
  }
}

/** Thrown when this machine lacks a requirement of an attempt. */
export class NotTried extends Error {}

/**
 * Adds an attempt of a kind. `act` receives the targets. It returns a text about the escape if the attempt escaped, a
 * {@link Done} if the effect shows only outside, and null if the attempt was refused; an error also means refused.
 * `more.needs` is `retry` if the host meets the effect in a retry of the step, `end` if the attempt may end the step,
 * `project` if it needs its own project, and `small` if it needs small limits.
 */
export function attempt(kind, what, act, more = {}) {
  const name = `${kind}: ${what}`;
  if (all.some((other) => other.name === name)) throw new Error(`two attempts "${name}"`);
  all.push({ kind, name, needs: more.needs ?? null, run: (targets) => outcomeOf(act, targets) });
}

/** Adds attempts of one kind. `table` maps the name of each attempt to its function. */
export function attempts(kind, table, more) {
  for (const [what, act] of Object.entries(table)) attempt(kind, what, act, more);
}

async function outcomeOf(act, targets) {
  try {
    const got = await act(targets);
    if (got instanceof Done) return { outcome: "done", detail: got.detail };
    if (typeof got !== "string") return { outcome: "refused", detail: "" };
    return { outcome: "escaped", detail: got.slice(0, 300) };
  } catch (error) {
    const detail = String(error?.message ?? error).slice(0, 300);
    return { outcome: error instanceof NotTried ? "not tried" : "refused", detail };
  }
}

/** All attempts, in the order of their files. */
export async function attemptsOf() {
  const folder = new URL(".", import.meta.url);
  const files = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith(".mjs"));
  for (const file of files.sort()) await import(new URL(file, folder).href);
  return all;
}

/** Runs a shell script and returns its output. @throws when the script fails */
export function sh(script, env = {}) {
  const options = { encoding: "utf8", timeout: 20_000, env: { ...process.env, ...env } };
  const { status, stderr, stdout } = spawnSync("/bin/sh", ["-c", script], options);
  if (status !== 0) throw new Error(stderr.trim() || `exit code ${status}`);
  return stdout;
}

const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

/** Runs a Python program, which can make any system call. Returns its output. @throws when the program fails */
export function py(program, ...args) {
  if (python === undefined) throw new NotTried("python3 not found");
  const options = { encoding: "utf8", timeout: 50_000, maxBuffer: 1 << 26 };
  const text = `${prelude}\n${program}`;
  const { status, stderr, stdout } = spawnSync(python, ["-c", text, ...args.map(String)], options);
  if (status !== 0) throw new Error(stderr.trim().split("\n").pop() || `exit code ${status}`);
  return stdout.trim();
}

/** Requires a program. @throws NotTried when the program is missing */
export function needs(program) {
  const found = spawnSync("/bin/sh", ["-c", `command -v ${program}`]).status === 0;
  if (!found) throw new NotTried(`${program} not found`);
}

const prelude = `
import ctypes, os, sys, struct, socket, time, fcntl
libc = ctypes.CDLL(None, use_errno=True)
def must(result, what="call"):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, what + ": " + os.strerror(number))
    return result
def call(number, *args):
    return must(libc.syscall(ctypes.c_long(number), *[ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]), str(number))
def mount(source, target, kind, flags=0, data=b""):
    return must(libc.mount(source, target, kind, ctypes.c_ulong(flags), data), "mount")
`;

/** Returns a text if it contains the secret, else null. */
export const ifSecret = (text, { secret }) => (text.includes(secret) ? text : null);

/** Runs the program of the step's tools, which the sandbox shows, with other arguments. */
export function ownCommand(...words) {
  const { agentArguments } = JSON.parse(process.env.HOSTILE_TARGETS);
  if (!agentArguments.includes("--mcp-config")) throw new NotTried("the step has no tools");
  const given = agentArguments[agentArguments.indexOf("--mcp-config") + 1];
  const [{ args, command }] = Object.values(JSON.parse(given).mcpServers);
  const line = [...args.slice(0, args.indexOf("plan")), ...words];
  return spawnSync(command, line, { encoding: "utf8", timeout: 40_000 });
}
