import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/* How an attempt is written, and what several of them need. */
const all = [];

/** The folder inside that all steps of a run share. */
export const workFolder = "/workspace/work";

/** What the call did shows only from outside. */
export class Done {
  constructor(detail) {
    this.detail = detail;
  }
}

/** This machine lacks what the attempt needs. */
export class NotTried extends Error {}

/**
 * Adds an attempt of a kind. `act` gets the targets. It returns what it got (a text) when it got out, a {@link Done} when only
 * the outside knows, and null or an error when it was refused. `more.needs` is `retry` for what the host meets when the step is
 * tried again, `end` for what may end the step, `project` for what needs a project of its own, and `small` for small limits.
 */
export function attempt(kind, what, act, more = {}) {
  const name = `${kind}: ${what}`;
  if (all.some((other) => other.name === name)) throw new Error(`two attempts "${name}"`);
  all.push({ kind, name, needs: more.needs ?? null, run: (targets) => outcomeOf(act, targets) });
}

/** Adds attempts of one kind, by a table from what is tried to what does it. */
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

/** Runs a shell script and returns what it printed. @throws when it fails */
export function sh(script, env = {}) {
  const options = { encoding: "utf8", timeout: 20_000, env: { ...process.env, ...env } };
  const { status, stderr, stdout } = spawnSync("/bin/sh", ["-c", script], options);
  if (status !== 0) throw new Error(stderr.trim() || `exit code ${status}`);
  return stdout;
}

const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

/** Runs a Python program, which reaches system calls that Node has no function for. Returns what it printed. @throws */
export function py(program, ...args) {
  if (python === undefined) throw new NotTried("there is no python3");
  const options = { encoding: "utf8", timeout: 50_000, maxBuffer: 1 << 26 };
  const text = `${prelude}\n${program}`;
  const { status, stderr, stdout } = spawnSync(python, ["-c", text, ...args.map(String)], options);
  if (status !== 0) throw new Error(stderr.trim().split("\n").pop() || `exit code ${status}`);
  return stdout.trim();
}

/** Needs a program. */
export function needs(program) {
  const found = spawnSync("/bin/sh", ["-c", `command -v ${program}`]).status === 0;
  if (!found) throw new NotTried(`there is no ${program}`);
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

/** The text of what a function reads when it has a canary's secret in it, else null. */
export const ifSecret = (text, { secret }) => (text.includes(secret) ? text : null);

/** Runs the command line that the step's tools are of, which the sandbox shows, with other words. */
export function ownCommand(...words) {
  const { agentArguments } = JSON.parse(process.env.HOSTILE_TARGETS);
  if (!agentArguments.includes("--mcp-config")) throw new NotTried("the step has no tools");
  const given = agentArguments[agentArguments.indexOf("--mcp-config") + 1];
  const [{ args, command }] = Object.values(JSON.parse(given).mcpServers);
  const line = [...args.slice(0, args.indexOf("plan")), ...words];
  return spawnSync(command, line, { encoding: "utf8", timeout: 40_000 });
}
