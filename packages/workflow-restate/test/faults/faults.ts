import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError, type ThreadRef } from "@uncaged/workflow/host";
import { type Cluster, registerWorker, startCluster } from "../../src/entry/cluster.ts";
import { openRestateHost, type RestateHost } from "../../src/entry/index.ts";
import {
  auditedBundle,
  type Effect,
  Effects,
  type Interface,
  linesOf,
  violations,
} from "./audit.ts";
import { answer, noOrders, type Orders, tenAtOnce } from "./commands.ts";
import { Fleet, type Worker } from "./fleet.ts";
import { randomOf } from "./random.ts";
import {
  type Happened,
  isAlone,
  isDriven,
  takenOver,
  type Takeover,
  takeovers,
} from "./takeover.ts";

/*
 * Runs threads on a real cluster while workers, servers and connections fail at random moments and commands arrive.
 * Compares the effects of the threads with their records. A seed determines the faults, but the machine affects their
 * timing.
 */

export const kinds = ["kill", "freeze", "server", "network", "commands"] as const;
export type Kind = (typeof kinds)[number];

export type FaultOptions = {
  faults: number;
  /** Kinds of faults; defaults to all. */
  kinds?: readonly Kind[];
  /** Kinds of the first faults, in sequence. */
  first?: readonly Kind[];
  nodes: 1 | 3;
  workers: number;
  threads: number;
  steps: number;
  seed: number;
  /**
   * Hits only workers that drive threads, and thaws a frozen worker only after a takeover, so that each fault measures
   * a takeover.
   */
  measures?: boolean;
  report?: (line: string) => void;
};

export type FaultReport = {
  faults: Record<Kind, number>;
  threads: number;
  forks: number;
  steps: number;
  /** Number of steps that began more than once: their worker was lost before the commit. */
  repeated: number;
  violations: string[];
  takeover: Record<string, Takeover>;
};

/** A thread of a trial, with its commands, shown records, and number of copied steps. */
type Tried = ThreadRef & { orders: Orders; shown: string[]; copied: number };

const stepMs = 100;
/** Maximum freeze of a worker, in milliseconds. A missing takeover within this time is a violation. */
const mostFrozenMs = 25_000;

/** Runs threads while faults happen, and reports violations. Deletes all its files and processes. */
export async function runFaults(options: FaultOptions): Promise<FaultReport> {
  const folder = mkdtempSync(join(tmpdir(), "uw-faults-"));
  const cluster = await startCluster({ folder: join(folder, "cluster"), nodes: options.nodes });
  const interrupted = () => {
    for (const { pid } of cluster.nodes) process.kill(pid, "SIGKILL");
    process.exit(130);
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    const fleet = await Fleet.start(folder, cluster, options.workers);
    const host = openRestateHost(cluster.address);
    try {
      await registerWorker(cluster.address, fleet.uri);
      return await new Trial(options, folder, cluster, fleet, host).run();
    } finally {
      await fleet.close();
      await host.close();
    }
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Trial {
  readonly #options: FaultOptions;
  readonly #cluster: Cluster;
  readonly #fleet: Fleet;
  readonly #host: RestateHost;
  readonly #bundle: string;
  readonly #audit: string;
  readonly #effects: Effects;
  readonly #heldUp = new Map<number, number>();
  readonly #happened: Happened[] = [];
  readonly #tried = new Map<string, Tried>();
  readonly #wrong: string[] = [];
  readonly #random: () => number;

  constructor(
    options: FaultOptions,
    folder: string,
    cluster: Cluster,
    fleet: Fleet,
    host: RestateHost,
  ) {
    this.#options = options;
    this.#cluster = cluster;
    this.#fleet = fleet;
    this.#host = host;
    this.#audit = join(folder, "audit.jsonl");
    this.#bundle = join(folder, "audited.esm.js");
    this.#effects = new Effects(this.#audit);
    this.#random = randomOf(options.seed);
  }

  async run(): Promise<FaultReport> {
    const { faults, first = [], report = () => {} } = this.#options;
    writeFileSync(this.#bundle, auditedBundle);
    const { hash } = await this.#host.store(this.#bundle);
    const done = { kill: 0, freeze: 0, server: 0, network: 0, commands: 0 };
    for (let n = 0; n < faults; ) {
      await this.#fill(hash);
      await this.#show();
      await Bun.sleep(this.#random() * 400);
      const given = first[n];
      const chosen = given ? [given] : this.#draw(faults - n);
      report(`${n + chosen.length} of ${faults}: ${chosen.join(" and ")}`);
      await Promise.all(chosen.map((kind) => this.#happen(kind, hash)));
      for (const kind of chosen) done[kind] += 1;
      n += chosen.length;
    }
    return { faults: done, ...(await this.#audited()) };
  }

  /** Draws one fault, or two at once. */
  #draw(most: number): Kind[] {
    const { kinds: drawn = kinds } = this.#options;
    const first = this.#pick(drawn);
    const second = this.#pick(drawn);
    return most > 1 && this.#random() < 0.4 && first !== second ? [first, second] : [first];
  }

  #pick<T>(all: readonly T[]): T {
    const found = all[Math.floor(this.#random() * all.length)];
    if (found === undefined) throw new RangeError("no items to choose from");
    return found;
  }

  /** Starts threads until enough are open. Some threads ask a question. */
  async #fill(workflow: string): Promise<void> {
    const { threads, steps } = this.#options;
    for (;;) {
      const running = await retried(() => this.#host.threads({ status: "running", limit: 1000 }));
      if (running.rows.length >= threads) return;
      const threadId = newId();
      const asks = this.#random() < 0.2 ? Math.floor(this.#random() * steps) : -1;
      const params = { audit: this.#audit, steps, ms: stepMs, asks };
      const start = { workflow, threadId, params, cwd: "/", env: {} };
      const { hash } = await retried(() => this.#host.start(start));
      this.#tried.set(threadId, {
        ...{ threadId, hash, shown: [], copied: 0 },
        orders: noOrders(),
      });
    }
  }

  /** Reads the current logs of some threads, like an observer. */
  async #show(): Promise<void> {
    const open = [...this.#tried.values()].slice(-this.#options.threads);
    for (const thread of [this.#pick(open), this.#pick(open)]) {
      const lines = await linesOf(this.#cluster.address, thread.threadId);
      if (lines && lines.length > thread.shown.length) thread.shown = lines;
    }
  }

  async #happen(kind: Kind, workflow: string): Promise<void> {
    const { measures } = this.#options;
    const worker = measures ? await this.#driving(workflow) : this.#pick(this.#fleet.workers);
    const from = Date.now();
    const happened: Happened = { kind, from, to: Number.POSITIVE_INFINITY };
    if (kind === "kill" || kind === "freeze") happened.lost = worker.child.pid;
    this.#happened.push(happened);
    if (kind === "kill") await this.#kill(worker);
    else if (kind === "freeze") await this.#freeze(worker, happened);
    else if (kind === "network") await this.#cut(worker, happened);
    else if (kind === "server") await this.#killServer();
    else await this.#command();
    happened.to = Date.now();
  }

  /** Returns a worker that has just begun a step. */
  async #driving(workflow: string): Promise<Worker> {
    for (const late = Date.now() + 60_000; Date.now() < late; await Bun.sleep(20)) {
      await this.#fill(workflow);
      const now = Date.now();
      const open = [...this.#measured().values()].filter(
        (effects) => (effects.at(-1)?.step ?? 0) < this.#options.steps / 2,
      );
      const driving = this.#fleet.workers.filter(({ child: { pid } }) =>
        open.some((effects) => isDriven(effects, { from: now, lost: pid })),
      );
      if (driving.length > 0) return this.#pick(driving);
    }
    throw new Error("no worker drives a thread");
  }

  async #kill(worker: Worker): Promise<void> {
    await this.#fleet.kill(worker);
    await Bun.sleep(this.#random() * 500);
    await this.#fleet.replace(worker);
  }

  /**
   * Freezes a worker. Thaws half of the frozen workers soon, and the others when other workers drive all their threads.
   */
  async #freeze({ child }: Worker, happened: Happened): Promise<void> {
    this.#holdUp(child.pid);
    child.kill("SIGSTOP");
    const isBrief = !this.#options.measures && this.#random() < 0.5;
    if (isBrief) await Bun.sleep(500 + this.#random() * 4000);
    else await this.#overtaken(happened);
    child.kill("SIGCONT");
  }

  #holdUp(pid: number): void {
    this.#heldUp.set(pid, (this.#heldUp.get(pid) ?? 0) + 1);
  }

  async #overtaken(happened: Happened): Promise<void> {
    const { steps } = this.#options;
    for (const late = Date.now() + mostFrozenMs; Date.now() < late; await Bun.sleep(50)) {
      const isGivenUp = [...this.#measured().values()].every((effects) => {
        const isOver = effects.findLast(({ at }) => at <= happened.from)?.step === steps - 1;
        return isOver || !isDriven(effects, happened) || takenOver(effects, happened) !== undefined;
      });
      if (isGivenUp) return;
    }
  }

  async #cut(worker: Worker, happened: Happened): Promise<void> {
    const how = this.#random() < 0.5 ? "reset" : "silent";
    const which = this.#random() < 0.5 ? "all" : Math.floor(this.#random() * worker.links.length);
    // A silent worker counts as lost, like a frozen worker.
    if (which === "all" && how === "silent") happened.lost = worker.child.pid;
    this.#holdUp(worker.child.pid);
    const restore = this.#fleet.cut(worker, how, which);
    await Bun.sleep(500 + this.#random() * 7000);
    restore();
  }

  async #killServer(): Promise<void> {
    const { nodes } = this.#options;
    const node = Math.floor(this.#random() * nodes);
    process.kill(this.#cluster.nodes[node]?.pid ?? 0, "SIGKILL");
    await Bun.sleep(this.#random() * (nodes === 1 ? 1000 : 5000));
    await this.#cluster.restart(node);
  }

  /** Sends ten commands at once to a running or waiting thread. */
  async #command(): Promise<void> {
    const status = this.#random() < 0.5 ? "running" : "waiting";
    const { rows } = await retried(() => this.#host.threads({ status, limit: 1000 }));
    const open = rows.flatMap(({ threadId }) => this.#tried.get(threadId) ?? []);
    if (open.length === 0) return;
    const thread = this.#pick(open);
    const { forks, unexpected } = await tenAtOnce(this.#host, thread, thread.orders, this.#random);
    this.#wrong.push(...unexpected);
    for (const { threadId, steps } of forks) {
      const { hash } = thread;
      this.#tried.set(threadId, {
        ...{ threadId, hash, shown: [], copied: steps },
        orders: noOrders(),
      });
    }
  }

  /** Returns the effects of each thread without commands, because commands also delay steps. */
  #measured() {
    const isOwn = ({ thread }: Effect) => this.#tried.get(thread)?.orders.commands === 0;
    return Map.groupBy(this.#effects.read().filter(isOwn), ({ thread }) => thread);
  }

  /** Waits for the end of all threads and compares their records with their effects. */
  async #audited(): Promise<Omit<FaultReport, "faults">> {
    const { steps } = this.#options;
    const wrong = [...this.#wrong];
    for (const thread of this.#tried.values()) wrong.push(...(await this.#ended(thread)));
    const byThread = Map.groupBy(this.#effects.read(), ({ thread }) => thread);
    const heldUp = (pid: number) => this.#heldUp.get(pid) ?? 0;
    const freezes = this.#happened.flatMap((one) =>
      one.kind === "freeze" && isAlone(one, one.to, this.#happened)
        ? [{ pid: one.lost ?? 0, from: one.from, to: one.to }]
        : [],
    );
    let begun = 0;
    let committed = 0;
    for (const { threadId, orders, shown, copied } of this.#tried.values()) {
      const lines = (await retriedLines(this.#cluster.address, threadId)) ?? [];
      const effects = byThread.get(threadId) ?? [];
      const { kill, ...answers } = orders;
      const known = { steps, copied, kill, answers, shown, heldUp, freezes };
      const found = violations(lines, effects, known);
      wrong.push(...found.map((what) => `${threadId}: ${what}`));
      begun += effects.filter(({ asks }) => !asks).length;
      committed += lines.filter((line) => line.includes('"role":"count"')).length;
      committed -= lines
        .slice(1, copied + 1)
        .filter((line) => line.includes('"role":"count"')).length;
    }
    const { problems } = await this.#host.verify();
    wrong.push(...problems.map(({ message }) => message));
    const forks = [...this.#tried.values()].filter(({ copied }) => copied > 0).length;
    return {
      ...{ threads: this.#tried.size, forks, steps: committed, repeated: begun - committed },
      violations: wrong,
      takeover: Object.fromEntries(takeovers(this.#measured(), this.#happened)),
    };
  }

  /** Answers the questions of a thread, and resumes the thread if it is paused, until it ends. */
  async #ended(thread: Tried): Promise<string[]> {
    for (const late = Date.now() + 120_000; Date.now() < late; await Bun.sleep(50)) {
      const { status } = await retried(() => this.#host.read(thread));
      if (["completed", "failed", "killed"].includes(status)) return [];
      const act =
        status === "waiting"
          ? answer(this.#host, thread, thread.orders, this.#random)
          : status === "paused" && this.#host.control(thread, { kind: "resume", env: {} });
      // Ignore a refusal, because the thread may have continued since the read.
      if (act) await act.catch(isRefused);
    }
    return [`${thread.threadId} does not end`];
  }
}

/** Ignores a refusal and throws other errors. */
function isRefused(error: unknown): void {
  if (!isWorkflowError(error)) throw error;
}

function newId(): string {
  const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const tail = Array.from({ length: 16 }, () => digits[Math.floor(Math.random() * 32)]).join("");
  let time = "";
  for (let rest = Date.now(); time.length < 10; rest = Math.floor(rest / 32)) {
    time = `${digits[rest % 32]}${time}`;
  }
  return time + tail;
}

/** Retries a call while a server is unavailable. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (const late = Date.now() + 60_000; ; await Bun.sleep(100)) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > late) throw error;
    }
  }
}

const retriedLines = (address: Interface, threadId: string) =>
  retried(async () => {
    const lines = await linesOf(address, threadId);
    if (!lines) throw new Error(`the log of ${threadId} can't be read`);
    return lines;
  });
