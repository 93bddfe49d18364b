/**
 * A second reader of thread logs, which shares no code with the packages: it compares what is on the
 * disk with what was acknowledged while workers were killed.
 *
 *     bun scripts/audit.ts <root> <notes>
 *
 * A workflow of the crash test yields steps whose content begins with `<n>:<nonce>`, n being the step's
 * position in the log from 0. `<notes>` has a line for each acknowledgement:
 *
 *     step <threadId> <n> <nonce>      the workflow was asked for the step after this one
 *     started <threadId>               the start was acknowledged
 *     answered <threadId> <nonce>      the answer was acknowledged
 *     forked <threadId> <source> <n>   the fork was acknowledged, with n steps
 *     killed <threadId>                the kill was acknowledged
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What an audit found. `lost`, `doubled` and `broken` must be empty; `torn` counts truncated tails. */
export type Audit = {
  threads: number;
  steps: number;
  acknowledged: number;
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
type Log = { raw: string[]; lines: Line[] };

export function audit(root: string, notes: string): Audit {
  const found: Audit = {
    threads: 0,
    steps: 0,
    acknowledged: 0,
    lost: [],
    doubled: [],
    broken: [],
    torn: 0,
  };
  const logs = readLogs(root, found);
  for (const [threadId, log] of logs) auditLog(threadId, log, logs, found);
  auditNotes(readFileSync(notes, "utf8").split("\n"), logs, found);
  return found;
}

function readLogs(root: string, found: Audit): Map<string, Log> {
  const logs = new Map<string, Log>();
  for (const hash of readdirSync(join(root, "logs"))) {
    for (const name of readdirSync(join(root, "logs", hash))) {
      if (name.includes(".torn-")) found.torn += 1;
      if (!name.endsWith(".data.jsonl")) continue;
      const threadId = name.slice(0, -".data.jsonl".length);
      const log = readLog(join(root, "logs", hash, name), found);
      const start = log?.lines[0];
      if (!log || !start) continue;
      if (start.threadId !== threadId || start.hash !== hash)
        found.broken.push(`${name}: not its own`);
      if (logs.has(threadId)) found.doubled.push(`the thread ${threadId} has two logs`);
      logs.set(threadId, log);
    }
  }
  return logs;
}

const sumPattern = /,"sum":"([0-9a-f]{16})"\}$/;
const withoutSum = (line: string | undefined) => line?.replace(sumPattern, "}");

function readLog(path: string, found: Audit): Log | null {
  const raw = readFileSync(path, "utf8").split("\n");
  if (raw.pop() !== "") found.broken.push(`${path}: torn at its end`);
  let sum = 0n;
  for (const [at, line] of raw.entries()) {
    const named = sumPattern.exec(line)?.[1];
    if (named === undefined) continue;
    sum = Bun.hash.xxHash64(line.replace(sumPattern, ""), sum);
    if (BigInt(`0x${named}`) !== sum)
      found.broken.push(`${path}:${at + 1}: the sum does not follow`);
  }
  try {
    return { raw, lines: raw.map((line) => JSON.parse(line) as Line) };
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
    found.doubled.push(`${threadId} goes on after its end`);
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
    found.lost.push(`${threadId}: step ${n - 1} is not that of ${from.threadId}`);
  }
}

function auditNotes(notes: string[], logs: Map<string, Log>, found: Audit): void {
  const nonces = new Map<string, string>();
  for (const note of notes) {
    const [what, threadId = "", a = "", b = ""] = note.split(" ");
    if (!what || !/^(step|started|answered|forked|killed)$/.test(what)) continue;
    found.acknowledged += 1;
    const log = logs.get(threadId);
    if (!log) {
      found.lost.push(`${what} ${threadId}: there is no such log`);
      continue;
    }
    const steps = log.lines.slice(1);
    if (what === "step") {
      const key = `${threadId} ${a}`;
      const before = nonces.get(key);
      if (before !== undefined && before !== b) found.doubled.push(`step ${key} was run again`);
      nonces.set(key, b);
      const { content } = steps[Number(a)] ?? {};
      if (!content?.startsWith(`${a}:${b}`))
        found.lost.push(`step ${key} ${b}: ${content?.slice(0, 20)}`);
    }
    if (what === "answered") {
      const times = steps.filter(({ role, content }) => role === "__input__" && content === a);
      if (times.length === 0) found.lost.push(`the answer ${a} of ${threadId}`);
      if (times.length > 1) found.doubled.push(`the answer ${a} of ${threadId}`);
    }
    if (what === "forked" && log.lines[0]?.forkFrom?.steps !== Number(b)) {
      found.lost.push(`the fork ${threadId} of ${a} with ${b} steps`);
    }
    if (what === "killed" && log.lines.at(-1)?.meta?.reason !== "killed") {
      found.lost.push(`the killing of ${threadId}`);
    }
  }
}

if (import.meta.main) {
  const [root, notes] = process.argv.slice(2) as [string, string];
  console.log(JSON.stringify(audit(root, notes), null, 2));
}
