import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, isWorkflowError, type ThreadRef } from "@uncaged/workflow/host";
import { Effects, violations } from "../../../workflow-restate/test/faults/audit.ts";
import {
  answer,
  noOrders,
  type Orders,
  tenAtOnce,
} from "../../../workflow-restate/test/faults/commands.ts";
import {
  isAlone,
  type Takeover,
  takeovers,
} from "../../../workflow-restate/test/faults/takeover.ts";
import { openPostgresHost } from "../../src/host/host.ts";
import { Acts, type Kind, kinds } from "./acts.ts";
import { unasked } from "./answers.ts";
import { countingBundle } from "./bundle.ts";
import { recording, wrongCommits, wrongSums } from "./commits.ts";
import { Fleet } from "./fleet.ts";
import { Link } from "../../../workflow-restate/test/faults/link.ts";
import { Servers } from "./servers.ts";
import { newId, pick, randomOf } from "../../../workflow-restate/test/faults/random.ts";
import { Watcher } from "./watcher.ts";

/*
 * Runs threads on a primary server with a synchronous replica while workers, servers, connections and statements fail
 * at random moments and commands arrive. Compares the records of the threads with their effects, with acknowledged
 * commands and with everything that observers received. A seed determines the faults; the machine affects their timing.
 */

export type FaultOptions = {
  faults: number;
  seed: number;
  kinds?: readonly Kind[];
  /** Duration of the workers' leases, in milliseconds. */
  leaseMs?: number;
  /** Pause before each fault, which separates takeovers from other faults, in milliseconds; 0 by default. */
  pauseMs?: number;
  report?: (line: string) => void;
};

export type FaultReport = {
  faults: Record<Kind, number>;
  threads: number;
  forks: number;
  answers: number;
  watched: number;
  steps: number;
  /** Number of steps that began more than once: their worker was lost before the commit. */
  repeated: number;
  /** Number of occurrences of each error code in workers' reports and refused commands. */
  errors: Record<string, number>;
  violations: string[];
  takeover: Record<string, Takeover>;
};

type Tried = ThreadRef & { orders: Orders; shown: string[] };
type Thread = { thread_id: string; hash: string; state: string; paused: boolean; name: string };

const schema = "uncaged";
const shortLeaseMs = 3_000;
const [workers, threads, steps, stepMs] = [3, 12, 15, 60];
/** Errors of commands that an outage or another command explains. */
const harmless =
  /^(THREAD_ENDED|NOT_RUNNING|NOT_WAITING|ALREADY_RUNNING|WAITING|SLEEPING|NO_DATABASE|DISK_FULL|DATABASE_FAILED|DATABASE_READ_ONLY)$/;

/** Runs threads while faults happen, and reports violations. Deletes all its files and processes. */
export async function runFaults(options: FaultOptions): Promise<FaultReport> {
  const { leaseMs = shortLeaseMs } = options;
  const folder = mkdtempSync(join(tmpdir(), "uw-faults-"));
  const closing: (() => Promise<void>)[] = [];
  try {
    const servers = await Servers.start();
    closing.push(() => servers.close());
    const url = (port: number) => `postgres://app@127.0.0.1:${port}/postgres`;
    const { port } = servers;
    const fleet = await Fleet.start(folder, url, { port, leaseMs, count: workers });
    closing.push(() => fleet.close());
    await servers.sql(recording(schema));
    const way = await Link.to(port);
    closing.push(() => way.close());
    const host = await openPostgresHost({ url: url(way.port), pool: 6 });
    closing.push(() => host.close());
    return await new Trial(options, { folder, servers, fleet, way, host }).run();
  } finally {
    for (const close of closing.toReversed()) await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Parts = { folder: string; servers: Servers; fleet: Fleet; way: Link; host: Host };

class Trial {
  readonly #options: FaultOptions;
  readonly #parts: Parts;
  readonly #audit: string;
  readonly #effects: Effects;
  readonly #acts: Acts;
  readonly #tried = new Map<string, Tried>();
  readonly #watchers: Watcher[] = [];
  readonly #wrong: string[] = [];
  /** The codes of refused commands. */
  readonly #refused: string[] = [];
  readonly #random: () => number;
  #hash = "";
  #answers = 0;

  constructor(options: FaultOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#audit = join(parts.folder, "audit.jsonl");
    this.#effects = new Effects(this.#audit);
    this.#random = randomOf(options.seed);
    const { leaseMs = shortLeaseMs } = options;
    this.#acts = new Acts({ ...parts, schema, leaseMs, random: this.#random });
  }

  async run(): Promise<FaultReport> {
    const { faults, report = () => {} } = this.#options;
    const bundle = join(this.#parts.folder, "counting.esm.js");
    writeFileSync(bundle, countingBundle);
    ({ hash: this.#hash } = await this.#parts.host.store(bundle, { sandbox: "off" }));
    const done: Record<Kind, number> = {};
    for (let n = 0; n < faults; ) {
      await Bun.sleep(this.#options.pauseMs ?? 0);
      await this.#fill();
      await this.#show();
      await Bun.sleep(this.#random() * 400);
      const chosen = this.#acts.draw(this.#options.kinds ?? kinds, faults - n);
      this.#wrong.push(...this.#parts.fleet.ended);
      report(`${n + chosen.length} of ${faults}: ${chosen.join(" and ")}`);
      await Promise.all(chosen.map((kind) => this.#happen(kind)));
      for (const kind of chosen) done[kind] = (done[kind] ?? 0) + 1;
      n += chosen.length;
    }
    return { faults: done, ...(await this.#audited()) };
  }

  #pick = <T>(all: readonly T[]): T => pick(all, this.#random);

  #sql = <Row extends object>(text: string, values?: unknown[]): Promise<Row[]> =>
    this.#parts.servers.sql<Row>(text, values);

  /** Starts threads until enough are open, and answers a question if several threads wait. */
  async #fill(): Promise<void> {
    const { host } = this.#parts;
    const [row] = await this.#sql<{ open: number }>(
      `SELECT count(*)::int AS open FROM ${schema}.threads
       WHERE NOT paused AND (state = 'running' OR due_at IS NOT NULL)`,
    );
    for (let open = row?.open ?? 0; open < threads; open += 1) {
      const threadId = newId(this.#random);
      const at = (chance: number) =>
        this.#random() < chance ? Math.floor(this.#random() * steps) : -1;
      const params = { audit: this.#audit, steps, ms: stepMs, asks: at(0.25), naps: at(0.25) };
      const start = { workflow: this.#hash, threadId, params, cwd: "/", env: {} };
      const { hash } = await retried(() => host.start(start));
      const tried = { threadId, hash, shown: [], orders: noOrders() };
      this.#tried.set(threadId, tried);
      if (this.#random() < 0.15) this.#watchers.push(new Watcher(host, tried));
    }
    const asking = await this.#asking();
    if (asking.length > 2) await this.#answer(this.#pick(asking));
  }

  async #asking(): Promise<Tried[]> {
    const rows = await this.#sql<Thread>(
      `SELECT thread_id FROM ${schema}.threads WHERE state = 'waiting' AND due_at IS NULL`,
    );
    return rows.flatMap(({ thread_id }) => this.#tried.get(thread_id) ?? []);
  }

  async #answer(thread: Tried): Promise<void> {
    try {
      await answer(this.#parts.host, thread, thread.orders, this.#random);
      this.#answers += 1;
    } catch (error) {
      if (!isWorkflowError(error) || !harmless.test(error.code)) throw error;
    }
  }

  /** Reads the current logs of two threads, like an observer. */
  async #show(): Promise<void> {
    const open = [...this.#tried.values()].slice(-threads);
    for (const thread of [this.#pick(open), this.#pick(open)]) {
      const lines = await this.#lines(thread.threadId);
      if (lines.length > thread.shown.length) thread.shown = lines;
    }
  }

  async #lines(threadId: string): Promise<string[]> {
    const rows = await this.#sql<{ n: number; content: string }>(
      `SELECT n, content FROM ${schema}.lines WHERE thread_id = $1 AND log = 0 ORDER BY n`,
      [threadId],
    );
    const lines: string[] = [];
    for (const { n, content } of rows) lines[n] = content;
    return Array.from(lines, (line) => line ?? "");
  }

  async #happen(kind: Kind): Promise<void> {
    if (kind === "commands") return await this.#command();
    await this.#acts.happen(kind);
  }

  /** Sends ten commands at once to a running or waiting thread. */
  async #command(): Promise<void> {
    const state = this.#random() < 0.5 ? "running" : "waiting";
    const rows = await this.#sql<Thread>(
      `SELECT thread_id FROM ${schema}.threads WHERE state = $1 ORDER BY thread_id`,
      [state],
    );
    const open = rows.flatMap(({ thread_id }) => this.#tried.get(thread_id) ?? []);
    if (open.length === 0) return;
    const thread = this.#pick(open);
    const { host } = this.#parts;
    const isHarmless = (code: string) => {
      this.#refused.push(`refused ${code}`);
      return harmless.test(code);
    };
    const { orders } = thread;
    const { forks, unexpected } = await tenAtOnce(host, thread, orders, this.#random, isHarmless);
    this.#wrong.push(...unexpected);
    for (const { threadId } of forks) this.#know({ threadId, hash: thread.hash });
  }

  #know(ref: ThreadRef): Tried {
    const known = this.#tried.get(ref.threadId) ?? { ...ref, shown: [], orders: noOrders() };
    this.#tried.set(ref.threadId, known);
    return known;
  }

  /** Waits for the end of all threads and compares their records with their effects. */
  async #audited(): Promise<Omit<FaultReport, "faults">> {
    const wrong = [...this.#wrong, ...(await this.#ended()), ...this.#parts.fleet.ended];
    const byThread = Map.groupBy(this.#effects.read(), ({ thread }) => thread);
    const { happened, heldUp } = this.#acts;
    const freezes = happened.flatMap((one) =>
      one.kind === "freeze" && isAlone(one, one.to, happened)
        ? [{ pid: one.lost ?? 0, from: one.from, to: one.to }]
        : [],
    );
    const [counted, begun] = [new Map<string, number>(), { steps: 0, forks: 0 }];
    for (const { threadId, orders, shown } of this.#tried.values()) {
      const lines = await this.#lines(threadId);
      const effects = byThread.get(threadId) ?? [];
      const { forkFrom } = JSON.parse(lines[0] ?? "{}") as { forkFrom?: { steps: number } };
      const copied = forkFrom?.steps ?? 0;
      const { kill, ...answers } = orders;
      const known = { steps, copied, kill, answers, shown, heldUp, freezes };
      const [row] = await this.#sql<{ record_sum: string }>(
        `SELECT record_sum FROM ${schema}.threads WHERE thread_id = $1`,
        [threadId],
      );
      const found = [
        ...violations(lines, effects, known),
        ...wrongSums(lines, row?.record_sum ?? ""),
        ...unasked(lines.slice(1 + copied), orders),
      ];
      for (const watcher of this.#watchers.filter(({ ref }) => ref.threadId === threadId)) {
        found.push(...(await watcher.differences(lines)));
      }
      wrong.push(...found.map((what) => `${threadId}: ${what}`));
      begun.steps += effects.filter(({ asks }) => !asks).length;
      begun.forks += copied > 0 ? 1 : 0;
      const own = lines.slice(1 + copied).filter((line) => line.startsWith('{"role":"count"'));
      counted.set(threadId, own.length);
    }
    wrong.push(...(await wrongCommits(this.#sql, schema)));
    const { problems } = await retried(() => this.#parts.host.verify());
    wrong.push(...problems.map(({ message }) => message));
    const committed = [...counted.values()].reduce((sum, one) => sum + one, 0);
    const isOwn = ({ thread }: { thread: string }) =>
      this.#tried.get(thread)?.orders.commands === 0;
    const measured = Map.groupBy(this.#effects.read().filter(isOwn), ({ thread }) => thread);
    return {
      ...{ threads: this.#tried.size, forks: begun.forks, watched: this.#watchers.length },
      ...{ answers: this.#answers, steps: committed, repeated: begun.steps - committed },
      errors: this.#errors(),
      violations: wrong,
      takeover: Object.fromEntries(takeovers(measured, happened)),
    };
  }

  #errors(): Record<string, number> {
    const reports = readFileSync(join(this.#parts.folder, "workers.log"), "utf8");
    const codes = [...reports.matchAll(/: ([^:\n]*) \(([A-Z_]+)\)/g)].map(
      ([, why, code]) => `${code} ${why}`,
    );
    const counted = Map.groupBy([...codes, ...this.#refused], (code) => code);
    return Object.fromEntries([...counted].map(([code, all]) => [code, all.length]));
  }

  /** Answers questions and resumes paused threads until all threads end. */
  async #ended(): Promise<string[]> {
    const { host } = this.#parts;
    let open: Thread[] = [];
    for (const late = Date.now() + 180_000; Date.now() < late; await Bun.sleep(200)) {
      const all = await this.#sql<Thread>(
        `SELECT thread_id, hash, state, paused FROM ${schema}.threads`,
      );
      // A start or fork may have succeeded although its reply was lost.
      for (const { thread_id: threadId, hash } of all) this.#know({ threadId, hash });
      open = all.filter(({ state }) => state !== "ended");
      if (open.length === 0) return [];
      const asking = new Set((await this.#asking()).map(({ threadId }) => threadId));
      await Promise.all(
        open.slice(0, 20).map(async ({ thread_id: threadId, hash, paused }) => {
          const thread = this.#know({ threadId, hash });
          if (asking.has(threadId)) await this.#answer(thread);
          // Another command may have resumed the thread since the read.
          else if (paused) await host.control(thread, { kind: "resume", env: {} }).catch(() => 0);
        }),
      );
    }
    return open.map(({ thread_id, state }) => `${thread_id} does not end: ${state}`);
  }
}

/** Retries a call while the database is unavailable. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (const late = Date.now() + 90_000; ; await Bun.sleep(100)) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > late) throw error;
    }
  }
}
