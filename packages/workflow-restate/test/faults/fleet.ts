import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Balancer, type Cluster, startBalancer } from "../../src/entry/cluster.ts";
import { type Cut, Link } from "./link.ts";

const program = join(import.meta.dir, "worker.ts");

export type Worker = {
  child: Bun.Subprocess<"ignore", "pipe", "inherit">;
  /** Port for the balancer. */
  port: number;
  health: number;
  /** All connections of the worker: from the cluster, from the balancer, and to the cluster. */
  links: Link[];
};

/** Workers of a cluster behind a balancer, with connections that a test can cut. */
export class Fleet {
  readonly workers: Worker[] = [];
  readonly #folder: string;
  readonly #cluster: Cluster;
  readonly #balancer: Balancer;
  #count = 0;

  private constructor(folder: string, cluster: Cluster, balancer: Balancer) {
    this.#folder = folder;
    this.#cluster = cluster;
    this.#balancer = balancer;
  }

  static async start(folder: string, cluster: Cluster, count: number): Promise<Fleet> {
    const fleet = new Fleet(folder, cluster, await startBalancer([]));
    while (fleet.workers.length < count) fleet.workers.push(await fleet.#startWorker());
    fleet.#share();
    return fleet;
  }

  /** URI of the workers. */
  get uri(): string {
    return `http://127.0.0.1:${this.#balancer.port}`;
  }

  async kill(worker: Worker): Promise<void> {
    worker.child.kill("SIGKILL");
    await worker.child.exited;
    for (const link of worker.links) await link.close();
  }

  /** Replaces a killed worker. */
  async replace(worker: Worker): Promise<void> {
    this.workers[this.workers.indexOf(worker)] = await this.#startWorker();
    this.#share();
  }

  /** Cuts one or all connections of a worker. Returns a function that restores them. */
  cut({ links }: Worker, how: Cut, which: "all" | number): () => void {
    const chosen = which === "all" ? links : links.slice(which, which + 1);
    for (const link of chosen) link.cut(how);
    return () => {
      for (const link of chosen) link.restore();
    };
  }

  async close(): Promise<void> {
    await this.#balancer.close();
    for (const worker of this.workers.splice(0)) await this.kill(worker);
  }

  async #startWorker(): Promise<Worker> {
    this.#count += 1;
    const cache = join(this.#folder, `worker-${this.#count}`);
    mkdirSync(cache, { mode: 0o700 });
    const { address, identityKey } = this.#cluster;
    const { ingress, admin, token } = address;
    const out = await Promise.all(
      [ingress, admin].map((url) => Link.to(Number(new URL(url).port))),
    );
    const urls = out.map(({ port }) => `http://127.0.0.1:${port}`);
    const child = Bun.spawn([process.execPath, program, ...urls, cache], {
      env: { ...process.env, TOKEN: token ?? "", IDENTITY_KEY: identityKey },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    const own = JSON.parse(new TextDecoder().decode(value)) as { port: number; health: number };
    const [calls, health] = await Promise.all([Link.to(own.port), Link.to(own.health)]);
    return { child, port: calls.port, health: health.port, links: [calls, health, ...out] };
  }

  #share(): void {
    this.#balancer.use(this.workers.map(({ port, health }) => ({ port, health })));
  }
}
