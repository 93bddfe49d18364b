/**
 * Audits a storage root without sharing code with the packages: compares the files with the steps and acknowledgements
 * that clients received while processes were killed.
 *
 *     bun scripts/audit.ts <root> <notes>
 *
 * A workflow of the crash test yields steps whose content begins with `<n>:<nonce>`; n is the step's position in the
 * log, from 0. `<notes>` has one line per event, in order:
 *
 *     effect <threadId> <n> <n:nonce>    the step had its effect, before its yield
 *     step <threadId> <n> <n:nonce>      the engine requested the step after step n
 *     seen <threadId> <n> <content>      a client received the step
 *     ended <threadId> <status>          a client received the end
 *     started <threadId> <hash>          the start was acknowledged
 *     answered <threadId> <content>      the answer was acknowledged; try-answer: it was sent
 *     forked <threadId> <source> <n>     the fork was acknowledged, with n steps
 *     killed <threadId>                  the kill was acknowledged; try-kill: it was sent
 *     removed <threadId>                 the removal was acknowledged; try-remove: it was sent
 *     added <name> <hash>                the version was acknowledged
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Result of an audit. `lost`, `doubled` and `broken` must be empty; `torn` counts truncated tails. */
export type Audit = {
  threads: number;
  steps: number;
  acknowledged: number;
  shown: number;
  lost: string[];
  doubled: string[];
  broken: string[];
  torn: number;
};

type Line = {
  threadId?: string;
  hash?: string;
  role?: string;
  content?: string;
  meta?: { reason?: string };
  forkFrom?: { threadId: string; steps: number };
};
type Log = { hash: string; raw: string[]; lines: Line[] };
type Note = { what: string; threadId: string; a: string; b: string };

/** Compares a storage root with the notes of its clients. */
export function audit(root: string, notesPath: string): Audit {
  const found: Audit = {
    threads: 0,
    steps: 0,
    acknowledged: 0,
    shown: 0,
    lost: [],
    doubled: [],
    broken: [],
    torn: 0,
  };
  const notes = readFileSync(notesPath, "utf8").split("\n").flatMap(noteOf);
  const logs = readLogs(root, found);
  for (const [threadId, log] of logs) auditLog(threadId, log, logs, found);
  auditNotes(notes, logs, found);
  auditEffects(notes, logs, found);
  auditBundles(root, notes, logs, found);
  return found;
}

function noteOf(line: string): Note[] {
  const [what = "", threadId = "", a = "", b = ""] = line.split(" ");
  return what === "" ? [] : [{ what, threadId, a, b }];
}

function readLogs(root: string, found: Audit): Map<string, Log> {
  const logs = new Map<string, Log>();
  for (const hash of readdirSync(join(root, "logs"))) {
    for (const name of readdirSync(join(root, "logs", hash))) {
      if (name.includes(".torn-")) found.torn += 1;
      if (!name.endsWith(".data.jsonl")) continue;
      const threadId = name.slice(0, -".data.jsonl".length);
      const log = readLog(join(root, "logs", hash, name), hash, found);
      const start = log?.lines[0];
      if (!log || !start) continue;
      if (start.threadId !== threadId || start.hash !== hash)
        found.broken.push(`${name}: its start names another thread or version`);
      if (logs.has(threadId)) found.doubled.push(`the thread ${threadId} has two logs`);
      logs.set(threadId, log);
    }
  }
  return logs;
}

const sumPattern = /,"sum":"([0-9a-f]{16})"\}$/;
const withoutSum = (line: string | undefined) => line?.replace(sumPattern, "}");

function readLog(path: string, hash: string, found: Audit): Log | null {
  const raw = readFileSync(path, "utf8").split("\n");
  if (raw.pop() !== "") found.broken.push(`${path}: torn tail`);
  let sum = 0n;
  for (const [at, line] of raw.entries()) {
    const named = sumPattern.exec(line)?.[1];
    if (named === undefined) continue;
    sum = Bun.hash.xxHash64(line.replace(sumPattern, ""), sum);
    if (BigInt(`0x${named}`) !== sum) found.broken.push(`${path}:${at + 1}: wrong checksum`);
  }
  try {
    return { hash, raw, lines: raw.map((line) => JSON.parse(line) as Line) };
  } catch (error) {
    found.broken.push(`${path}: ${String(error)}`);
    return null;
  }
}

function auditLog(threadId: string, log: Log, logs: Map<string, Log>, found: Audit): void {
  const { lines, raw } = log;
  found.threads += 1;
  const ends = lines.flatMap(({ role }, at) => (role === "__end__" ? [at] : []));
  if (ends.length > 1) found.doubled.push(`${threadId} has ${ends.length} ends`);
  if (ends.length === 0) found.broken.push(`${threadId} has no end`);
  if (ends.length > 0 && ends[0] !== lines.length - 1) {
    found.doubled.push(`${threadId} continues after its end`);
  }
  const last = lines.at(-1);
  if (last?.meta?.reason === "failed") found.broken.push(`${threadId} failed: ${last.content}`);
  const steps = lines.slice(1, ends[0] ?? lines.length);
  found.steps += steps.length;
  for (const [n, { role, content = "" }] of steps.entries()) {
    if (role === "__input__") continue;
    const number = Number(content.slice(0, content.indexOf(":")));
    if (number > n) found.lost.push(`${threadId}: step ${number} is at position ${n}`);
    if (number < n) found.doubled.push(`${threadId}: step ${number} is at position ${n}`);
  }
  const from = lines[0]?.forkFrom;
  const source = from && logs.get(from.threadId);
  if (!from || !source) return;
  for (let n = 1; n <= from.steps; n += 1) {
    if (withoutSum(raw[n]) === withoutSum(source.raw[n])) continue;
    found.lost.push(`${threadId}: step ${n - 1} differs from the step of ${from.threadId}`);
  }
}

const statusOf: Record<string, string> = {
  returned: "completed",
  maxRounds: "completed",
  killed: "killed",
  failed: "failed",
};
const shown = new Set(["step", "seen", "ended"]);
const acknowledged = new Set(["started", "answered", "forked", "killed", "removed"]);

function auditNotes(notes: Note[], logs: Map<string, Log>, found: Audit): void {
  const removing = threadsOf(notes, "try-remove");
  for (const { what, threadId, a, b } of notes) {
    if (shown.has(what)) found.shown += 1;
    else if (acknowledged.has(what)) found.acknowledged += 1;
    else continue;
    const log = logs.get(threadId);
    if (what === "removed") {
      if (log) found.broken.push(`${threadId} was removed, but its log exists`);
      continue;
    }
    if (!log) {
      if (!removing.has(threadId)) found.lost.push(`${what} ${threadId}: log not found`);
      continue;
    }
    const problem = problemOf(what, log, a, b);
    if (problem !== null) found.lost.push(`${threadId}: ${problem}`);
  }
  for (const { what, threadId, a } of notes) {
    if (what !== "try-answer") continue;
    const steps = logs.get(threadId)?.lines ?? [];
    const times = steps.filter(({ role, content }) => role === "__input__" && content === a);
    if (times.length > 1) found.doubled.push(`the answer ${a} of ${threadId}`);
  }
}

/** Describes the contradiction between a log and a note; null when they agree. */
function problemOf(what: string, { hash, lines }: Log, a: string, b: string): string | null {
  const { content, meta } = lines.at(-1) ?? {};
  const status = statusOf[meta?.reason ?? ""] ?? "open";
  if (what === "started")
    return hash === a || a === "" ? null : `its start was acknowledged on the version ${a}`;
  if (what === "ended")
    return status === a ? null : `it was shown as ${a}, but its last line is: ${content}`;
  if (what === "killed") return status === "killed" ? null : "the kill";
  if (what === "forked") {
    const { threadId, steps } = lines[0]?.forkFrom ?? {};
    return threadId === a && steps === Number(b) ? null : `the fork of ${a} with ${b} steps`;
  }
  if (what === "answered") {
    const has = lines.some((line) => line.role === "__input__" && line.content === a);
    return has ? null : `the answer ${a}`;
  }
  const step = lines[Number(a) + 1];
  const is = step?.content?.split(" ")[0];
  return is === b && step?.role !== "__end__" ? null : `step ${a} was ${b}, but the log has ${is}`;
}

/** Checks that no step has an effect after its acknowledgement, and that every committed step had its effect. */
function auditEffects(notes: Note[], logs: Map<string, Log>, found: Audit): void {
  const committed = new Map<string, string>();
  const effects = new Set<string>();
  const again = threadsOf(notes, "try-remove");
  for (const { what, threadId, a, b } of notes) {
    const key = `${threadId} ${a}`;
    if (what === "step" || what === "seen") {
      const before = committed.get(key) ?? b;
      if (before !== b && !again.has(threadId)) {
        found.doubled.push(`step ${key} was first ${before}, then ${b}`);
      }
      committed.set(key, b);
    }
    if (what !== "effect") continue;
    effects.add(`${key} ${b}`);
    if (committed.has(key) && !again.has(threadId)) found.doubled.push(`step ${key} was run again`);
  }
  if (effects.size === 0) return;
  for (const [threadId, { lines }] of logs) {
    const copied = lines[0]?.forkFrom?.steps ?? 0;
    for (const [at, { role, content = "" }] of lines.entries()) {
      if (at <= copied || role === "__input__" || role === "__end__") continue;
      if (effects.has(`${threadId} ${at - 1} ${content.split(" ")[0]}`)) continue;
      found.broken.push(`${threadId}: step ${at - 1} was committed, but never run`);
    }
  }
}

/** Checks that every acknowledged version is in the registry, and that every needed bundle exists and is unchanged. */
function auditBundles(root: string, notes: Note[], logs: Map<string, Log>, found: Audit): void {
  const path = join(root, "workflow.yaml");
  const registry = existsSync(path) ? readFileSync(path, "utf8") : "";
  const registered = [...registry.matchAll(/hash: "(\w{13})"/g)].map(([, hash = ""]) => hash);
  for (const { what, threadId: name, a: hash } of notes) {
    if (what !== "added" || registered.includes(hash)) continue;
    found.lost.push(`the version ${hash} of ${name} is not in the registry`);
  }
  const needed = registry === "" ? [] : [...logs.values()].map(({ hash }) => hash);
  for (const hash of new Set([...registered, ...needed])) {
    const file = join(root, "bundles", `${hash}.esm.js`);
    if (!existsSync(file)) found.lost.push(`the bundle ${hash} is missing`);
    else if (crockford(Bun.hash.xxHash64(readFileSync(file))) !== hash)
      found.broken.push(`the bundle ${hash} does not match its hash`);
  }
}

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const crockford = (hash: bigint): string =>
  Array.from({ length: 13 }, (_, at) => digits[Number((hash >> BigInt(60 - 5 * at)) & 31n)]).join(
    "",
  );

const threadsOf = (notes: Note[], what: string): Set<string> =>
  new Set(notes.flatMap((note) => (note.what === what ? note.threadId : [])));

if (import.meta.main) {
  const [root, notes] = process.argv.slice(2) as [string, string];
  console.log(JSON.stringify(audit(root, notes), null, 2));
}
