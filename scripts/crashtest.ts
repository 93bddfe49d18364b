/**
 * The crash test: workers are killed at seeded random moments while threads run, pause, fork, resume,
 * wait and are answered; then every thread is brought to its end, and `audit.ts` reads the logs.
 *
 *     bun run crashtest --minutes 1 --seed 1
 *
 * The seed settles what is drawn; who draws next, and at which instruction a signal comes, is up to the
 * machine. Exits 1 when anything that was acknowledged is lost or doubled.
 */
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { putBundle } from "../packages/workflow/src/bundle/store.ts";
import { isWorkflowError } from "../packages/workflow/src/contract/error.ts";
import { killThread, pauseThread, resumeThread } from "../packages/workflow/src/local/control.ts";
import { listThreads } from "../packages/workflow/src/local/list.ts";
import { forkThread, startThread } from "../packages/workflow/src/local/start.ts";
import { idleVariable } from "../packages/workflow/src/local/worker-client.ts";
import { runDir } from "../packages/workflow/src/storage/paths.ts";
import { createRoot, openRoot } from "../packages/workflow/src/storage/root.ts";
import type { Status, ThreadRow } from "../packages/workflow/src/thread/thread.ts";
import {
  isAlive,
  type ProcessIdentity,
  readWorkerInfo,
} from "../packages/workflow/src/worker/worker-info.ts";
import { audit } from "./audit.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    keep: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const lastsMs = Number(values.minutes) * 60_000;
if (!Number.isInteger(seed) || !(lastsMs > 0)) {
  console.error("usage: bun run crashtest [--minutes N] [--seed S] [--keep]");
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "uw-crash-"));
const root = openRoot({ path: join(folder, "root") });
const notes = join(folder, "notes");
const begin = performance.now();
const mostOpen = 12;
process.env[idleVariable] = "300";

/** The workflow: it counts, waits now and then, and notes each step when it is asked for the next. */
const source = (name: string) => `// ${name}
import { appendFileSync } from "node:fs";
export const descriptor = { description: "counts", roles: {} };
export async function* run(input, { threadId, count, delayMs, size, askEvery, notes }) {
  for (let n = input.steps.length; n < count; n += 1) {
    if (delayMs) await new Promise((resolve) => setTimeout(resolve, Math.random() * delayMs));
    const nonce = Math.random().toString(36).slice(2);
    const asks = askEvery > 0 && n % askEvery === askEvery - 1;
    const content = n + ":" + nonce + " " + "x".repeat(Math.random() * size);
    yield asks ? { role: "__wait__", content, meta: { for: "go" } } : { role: "count", content, meta: {} };
    appendFileSync(notes, "step " + threadId + " " + n + " " + nonce + "\\n");
    if (asks) n += 1;
  }
  return { returnCode: 0, summary: "counted to " + count };
}
`;

/** mulberry32: a small generator with a seed. */
function randomOf(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
const random = randomOf(seed);
const below = (most: number): number => Math.floor(random() * most);
const pick = <T>(items: readonly T[]): T | undefined => items[below(items.length)];
const note = (...words: (string | number)[]) => appendFileSync(notes, `${words.join(" ")}\n`);

const counts = {
  kills: 0,
  terms: 0,
  forced: 0,
  starts: 0,
  forks: 0,
  resumes: 0,
  answers: 0,
  pauses: 0,
};
const unexpected = new Map<string, number>();

/** What an operation may meet when its worker dies, or another operation was first. */
const harmless = new Set(
  `WORKER_LOST WORKER_SILENT WORKER_CLOSING WORKER_OUT_OF_SIGHT THREAD_ENDED NOT_RUNNING NOT_WAITING
  ALREADY_RUNNING WAITING NOT_LIVE NOTHING_TO_RETRY`.split(/\s+/),
);

async function attempt(operation: () => Promise<void>): Promise<void> {
  try {
    await operation();
  } catch (error) {
    const code = isWorkflowError(error) ? error.code : "INTERNAL";
    if (harmless.has(code)) return;
    const text = `${code}: ${error instanceof Error ? error.message : String(error)}`;
    unexpected.set(text, (unexpected.get(text) ?? 0) + 1);
  }
}

async function start(hashes: string[]): Promise<void> {
  const options = {
    count: 10 + below(60),
    delayMs: pick([0, 2, 10]) ?? 0,
    size: pick([10, 10, 2_000, 200_000]) ?? 10,
    askEvery: pick([0, 0, 7]) ?? 0,
    notes,
  };
  const workflow = pick(hashes) ?? "";
  const { threadId } = await startThread(root, { workflow, cwd: folder, env: {}, options });
  note("started", threadId);
  counts.starts += 1;
}

async function fork(thread: ThreadRow): Promise<void> {
  const retries = thread.status === "killed" && random() < 0.5;
  const keep = retries ? { keep: { atStep: thread.steps } } : {};
  const { threadId, forkFrom } = await forkThread(root, thread, { env: {}, ...keep });
  note("forked", threadId, forkFrom.threadId, forkFrom.steps);
  counts.forks += 1;
}

async function answer(thread: ThreadRow): Promise<void> {
  const content = crypto.randomUUID();
  await resumeThread(root, thread, { env: {}, input: { content } });
  note("answered", thread.threadId, content);
  counts.answers += 1;
}

async function takeUp(thread: ThreadRow): Promise<void> {
  if (thread.status === "waiting") return await answer(thread);
  await resumeThread(root, thread, { env: {} });
  counts.resumes += 1;
}

async function pause(thread: ThreadRow): Promise<void> {
  await pauseThread(root, thread);
  counts.pauses += 1;
}

async function end(thread: ThreadRow): Promise<void> {
  await killThread(root, thread);
  note("killed", thread.threadId);
}

const threads = async (...status: Status[]): Promise<ThreadRow[]> =>
  (await listThreads(root, { limit: 10_000, ...(status.length > 0 ? { status } : {}) })).rows;

/** One thing that a person might do. */
async function act(hashes: string[]): Promise<void> {
  const rows = await threads();
  const open = rows.filter(({ status }) => !/completed|failed|killed/.test(status));
  const dice = random();
  const chosen = pick(open);
  if (open.length < mostOpen / 2 || !chosen) return await start(hashes);
  if (dice < 0.1 && open.length < mostOpen) return await fork(pick(rows) ?? chosen);
  if (dice < 0.2 && open.length < mostOpen) return await start(hashes);
  if (dice < 0.25) return await end(chosen);
  if (dice < 0.5 && chosen.status === "running") return await pause(chosen);
  const still = pick(open.filter(({ status }) => status !== "running"));
  if (still) await takeUp(still);
}

function workers(): { hash: string; identity: ProcessIdentity; live: string[] }[] {
  return readdirSync(runDir(root))
    .filter((name) => name.endsWith(".holder"))
    .flatMap((name) => {
      const holder = readWorkerInfo(join(runDir(root), name));
      return holder && isAlive(holder.identity) ? [{ hash: name.slice(0, 13), ...holder }] : [];
    });
}

function signal({ pid }: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It was gone already.
  }
}

/** Kills one worker: outright mostly, sometimes politely, sometimes frozen and then by force. */
async function strike(): Promise<void> {
  const worker = pick(workers());
  const dice = random();
  if (!worker) return;
  counts.kills += 1;
  if (dice < 0.12) {
    counts.terms += 1;
    return signal(worker.identity, "SIGTERM");
  }
  const threadId = worker.live[0];
  if (dice > 0.03 + 0.12 || !threadId) return signal(worker.identity, "SIGKILL");
  counts.forced += 1;
  signal(worker.identity, "SIGSTOP");
  try {
    await killThread(root, { hash: worker.hash, threadId }, { force: true, env: {} });
    note("killed", threadId);
  } finally {
    if (isAlive(worker.identity)) signal(worker.identity, "SIGKILL");
  }
}

async function loop(once: () => Promise<void>, mostMs: number): Promise<void> {
  while (performance.now() - begin < lastsMs) {
    await attempt(once);
    await Bun.sleep(random() * mostMs);
  }
}

/** Brings every thread to its end. */
async function finish(): Promise<void> {
  for (const late = performance.now() + 120_000; performance.now() < late; await Bun.sleep(20)) {
    const rows = await threads("running", "paused", "waiting", "interrupted");
    if (rows.length === 0) return;
    for (const row of rows) if (row.status !== "running") await attempt(() => takeUp(row));
  }
}

function progress(): void {
  const seconds = Math.round((performance.now() - begin) / 1000);
  console.error(`${seconds} s: ${counts.kills} kills, ${counts.starts + counts.forks} threads`);
}

function report(): number {
  const found = audit(root, notes);
  const rows: [string, string | number][] = [
    ["kills", `${counts.kills} (${counts.terms} SIGTERM, ${counts.forced} frozen and forced)`],
    ["threads", `${found.threads} (${counts.forks} forks)`],
    ["steps", found.steps],
    ["acknowledged", found.acknowledged],
    ["resumed, paused, answered", `${counts.resumes}, ${counts.pauses}, ${counts.answers}`],
    ["lost", found.lost.length],
    ["doubled", found.doubled.length],
    ["broken", found.broken.length + unexpected.size],
    ["torn tails cut", found.torn],
    ["duration", `${Math.round((performance.now() - begin) / 1000)} s`],
    ["seed", seed],
  ];
  for (const [what, value] of rows) console.log(`${what.padEnd(26)} ${value}`);
  const findings = [...found.lost, ...found.doubled, ...found.broken];
  for (const finding of findings) console.log(`! ${finding}`);
  for (const [text, times] of unexpected) console.log(`! ${times} times ${text}`);
  return findings.length + unexpected.size === 0 ? 0 : 1;
}

createRoot(root);
note("begin");
const hashes: string[] = [];
for (const name of ["one", "two", "three"]) {
  const descriptor = { description: "counts", roles: {} };
  hashes.push(await putBundle(root, new TextEncoder().encode(source(name)), { descriptor }));
}
const showing = setInterval(progress, 10_000);
await Promise.all([...[1, 2, 3].map(() => loop(() => act(hashes), 30)), loop(strike, 200)]);
await finish();
clearInterval(showing);
const code = report();
for (const { identity } of workers()) signal(identity, "SIGKILL");
if (values.keep || code !== 0) console.log(`kept in ${folder}`);
else rmSync(folder, { recursive: true, force: true });
process.exit(code);
