import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRestateHost, type RestateHost } from "../../src/index.ts";
import {
  type Balancer,
  type Cluster,
  type ClusterAddress,
  registerWorker,
  startBalancer,
  startCluster,
} from "../../src/cluster.ts";
import { auditedBundle, type Effect, readEffects, violations } from "./audit.ts";
import { type Cut, Link } from "./link.ts";

/*
 * Threads on a real cluster, whose workers, servers and connections fail at random moments. What the threads did is then
 * compared with what is recorded. The faults are drawn from a seed; when they meet the threads is up to the machine.
 */

const kinds = ["kill", "freeze", "server", "network"] as const;
type Kind = (typeof kinds)[number];

export type FaultOptions = {
  faults: number;
  nodes: 1 | 3;
  workers: number;
  threads: number;
  steps: number;
  seed: number;
  report?: (line: string) => void;
};

export type FaultReport = {
  faults: Record<Kind, number>;
  threads: number;
  steps: number;
  /** Steps that were begun more than once: their worker was lost before they were committed. */
  repeated: number;
  violations: string[];
  /** How long after a worker was killed or frozen another one had begun a step of each of its threads, in ms, sorted. */
  takeover: { kill: number[]; freeze: number[] };
};

type Worker = {
  child: Bun.Subprocess<"ignore", "pipe", "inherit">;
  port: number;
  health: number;
  /** Between the cluster and the worker, and between the worker and the cluster. */
  links: Link[];
};

const stepMs = 60;
const program = join(import.meta.dir, "worker.ts");

/** Has faults happen to threads and gives what is wrong afterwards. Nothing is left behind. */
export async function runFaults(options: FaultOptions): Promise<FaultReport> {
  const folder = mkdtempSync(join(tmpdir(), "uw-faults-"));
  const cluster = await startCluster({ folder: join(folder, "cluster"), nodes: options.nodes });
  const trial = new Trial(options, folder, cluster);
  try {
    return await trial.run();
  } finally {
    await trial.close();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Trial {
  readonly #options: FaultOptions;
  readonly #folder: string;
  readonly #cluster: Cluster;
  readonly #host: RestateHost;
  readonly #audit: string;
  readonly #workers: Worker[] = [];
  readonly #frozen = new Map<number, number>();
  readonly #lost: { kind: "kill" | "freeze"; pid: number; at: number }[] = [];
  readonly #started: string[] = [];
  #balancer: Balancer | null = null;
  #count = 0;
  #random: () => number;

  constructor(options: FaultOptions, folder: string, cluster: Cluster) {
    this.#options = options;
    this.#folder = folder;
    this.#cluster = cluster;
    this.#audit = join(folder, "audit.jsonl");
    this.#host = openRestateHost(cluster.address);
    this.#random = randomOf(options.seed);
  }

  async run(): Promise<FaultReport> {
    const { faults, workers, report = () => {} } = this.#options;
    this.#balancer = await startBalancer([]);
    for (let n = 0; n < workers; n += 1) this.#workers.push(await this.#startWorker());
    this.#share();
    await registerWorker(this.#cluster.address, `http://127.0.0.1:${this.#balancer.port}`);
    const file = join(this.#folder, "audited.esm.js");
    writeFileSync(file, auditedBundle);
    const { hash } = await this.#host.store(file);
    const done = { kill: 0, freeze: 0, server: 0, network: 0 };
    for (let n = 0; n < faults; n += 1) {
      await this.#fill(hash);
      await Bun.sleep(this.#random() * 400);
      const kind = kinds[Math.floor(this.#random() * kinds.length)] ?? "kill";
      report(`${n + 1} of ${faults}: ${kind}`);
      await this.#fault(kind);
      done[kind] += 1;
    }
    return { faults: done, ...(await this.#audited()) };
  }

  async close(): Promise<void> {
    await this.#balancer?.close();
    for (const worker of this.#workers.splice(0)) await this.#endWorker(worker);
    await this.#host.close();
  }

  /** Starts threads until as many run as are to run. */
  async #fill(workflow: string): Promise<void> {
    const { threads, steps } = this.#options;
    const params = { audit: this.#audit, steps, ms: stepMs };
    for (;;) {
      const running = await retried(() => this.#host.threads({ status: "running", limit: 1000 }));
      if (running.rows.length >= threads) return;
      const threadId = this.#newId();
      const start = { workflow, threadId, params, cwd: "/", env: {} };
      await retried(() => this.#host.start(start));
      this.#started.push(threadId);
    }
  }

  #newId(): string {
    const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const tail = Array.from({ length: 16 }, () => digits[Math.floor(Math.random() * 32)]).join("");
    let time = "";
    for (let rest = Date.now(); time.length < 10; rest = Math.floor(rest / 32)) {
      time = `${digits[rest % 32]}${time}`;
    }
    return time + tail;
  }

  async #fault(kind: Kind): Promise<void> {
    const at = Math.floor(this.#random() * this.#workers.length);
    const worker = this.#workers[at];
    if (!worker) throw new RangeError("there is no worker");
    const { child } = worker;
    if (kind === "kill") {
      this.#lost.push({ kind, pid: child.pid, at: Date.now() });
      await this.#endWorker(worker);
      await Bun.sleep(this.#random() * 500);
      this.#workers[at] = await this.#startWorker();
      this.#share();
    } else if (kind === "freeze") {
      this.#frozen.set(child.pid, (this.#frozen.get(child.pid) ?? 0) + 1);
      this.#lost.push({ kind, pid: child.pid, at: Date.now() });
      child.kill("SIGSTOP");
      await Bun.sleep(1000 + this.#random() * 7000);
      child.kill("SIGCONT");
    } else if (kind === "network") {
      const link = worker.links[Math.floor(this.#random() * worker.links.length)];
      const how: Cut = this.#random() < 0.5 ? "reset" : "silent";
      link?.cut(how);
      await Bun.sleep(500 + this.#random() * 3000);
      link?.restore();
    } else {
      const node = Math.floor(this.#random() * this.#options.nodes);
      process.kill(this.#cluster.nodes[node]?.pid ?? 0, "SIGKILL");
      await Bun.sleep(this.#random() * 1000);
      await this.#cluster.restart(node);
    }
  }

  async #startWorker(): Promise<Worker> {
    this.#count += 1;
    const cache = join(this.#folder, `worker-${this.#count}`);
    mkdirSync(cache, { mode: 0o700 });
    const { address } = this.#cluster;
    const out = await Promise.all([
      Link.to(portOf(address.ingress)),
      Link.to(portOf(address.admin)),
    ]);
    const [ingress, admin] = out.map(({ port }) => `http://127.0.0.1:${port}`);
    const child = Bun.spawn([process.execPath, program, ingress ?? "", admin ?? "", cache], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    const own = JSON.parse(new TextDecoder().decode(value)) as { port: number; health: number };
    const inward = await Link.to(own.port);
    return { child, port: inward.port, health: own.health, links: [inward, ...out] };
  }

  async #endWorker({ child, links }: Worker): Promise<void> {
    child.kill("SIGKILL");
    await child.exited;
    for (const link of links) await link.close();
  }

  #share(): void {
    this.#balancer?.use(this.#workers.map(({ port, health }) => ({ port, health })));
  }

  /** Waits for the end of all threads and compares what is recorded with what was done. */
  async #audited(): Promise<Omit<FaultReport, "faults">> {
    const { steps } = this.#options;
    const wrong: string[] = [];
    for (const threadId of this.#started) {
      const view = await this.#ended(threadId);
      const contents = "steps" in view ? view.steps.map(({ content }) => content) : [];
      const wanted = Array.from({ length: steps }, (_, n) => String(n));
      if (view.status !== "completed") wrong.push(`${threadId} is ${view.status}`);
      if (contents.join() !== wanted.join())
        wrong.push(`${threadId} has the steps ${contents.join()}`);
    }
    const effects = readEffects(this.#audit);
    const byThread = Map.groupBy(effects, ({ thread }) => thread);
    const mayBeLate = (pid: number) => this.#frozen.get(pid) ?? 0;
    for (const [thread, own] of byThread) {
      wrong.push(...violations(own, steps, mayBeLate).map((what) => `${thread}: ${what}`));
    }
    const { problems } = await this.#host.verify();
    wrong.push(...problems.map(({ message }) => message));
    const threads = this.#started.length;
    const repeated = effects.length - threads * steps;
    return { threads, steps, repeated, violations: wrong, takeover: this.#takeover(byThread) };
  }

  async #ended(threadId: string) {
    for (const late = Date.now() + 120_000; ; await Bun.sleep(100)) {
      const view = await retried(async () => this.#host.read(await this.#host.find(threadId)));
      if (view.status === "completed" || view.status === "failed" || Date.now() > late) return view;
    }
  }

  /** For each thread whose last effect before a loss was of the lost process: when another one began a step. */
  #takeover(byThread: ReadonlyMap<string, Effect[]>): FaultReport["takeover"] {
    const found: FaultReport["takeover"] = { kill: [], freeze: [] };
    for (const { kind, pid, at } of this.#lost) {
      for (const own of byThread.values()) {
        const last = own.findLast((effect) => effect.at <= at);
        const next = own.find((effect) => effect.at > at);
        if (last?.pid === pid && next && next.pid !== pid) found[kind].push(next.at - at);
      }
    }
    for (const times of Object.values(found)) times.sort((a, b) => a - b);
    return found;
  }
}

const portOf = (url: ClusterAddress["ingress"]): number => Number(new URL(url).port);

/** Asks again while a server is away. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (const late = Date.now() + 60_000; ; await Bun.sleep(100)) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > late) throw error;
    }
  }
}

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
