import { join } from "node:path";
import { TestWorker } from "../fixtures/workers.ts";
import { Link } from "../../../workflow-restate/test/faults/link.ts";

export type Member = { worker: TestWorker; link: Link };

/** Workers, each with a separate link to the database. */
export class Fleet {
  readonly members: Member[] = [];
  readonly #url: (port: number) => string;
  readonly #log: string;
  readonly #leaseMs: number;
  #port: number;

  private constructor(
    folder: string,
    url: (port: number) => string,
    port: number,
    leaseMs: number,
  ) {
    this.#log = join(folder, "workers.log");
    this.#url = url;
    this.#port = port;
    this.#leaseMs = leaseMs;
  }

  static async start(
    folder: string,
    url: (port: number) => string,
    { port, leaseMs, count }: { port: number; leaseMs: number; count: number },
  ): Promise<Fleet> {
    const fleet = new Fleet(folder, url, port, leaseMs);
    const started = Array.from({ length: count }, () => fleet.#start());
    fleet.members.push(...(await Promise.all(started)));
    return fleet;
  }

  /** Directs new connections to another server. */
  retarget(port: number): void {
    this.#port = port;
    for (const { link } of this.members) link.target = port;
  }

  /** A violation for each worker that exited unexpectedly. */
  get ended(): string[] {
    const gone = this.members.filter(({ worker: { process } }) => process.exitCode !== null);
    return gone.map(({ worker: { owner, process } }) => `${owner} ended with ${process.exitCode}`);
  }

  async kill({ worker, link }: Member): Promise<void> {
    await worker.kill();
    await link.close();
  }

  async replace(member: Member): Promise<void> {
    this.members[this.members.indexOf(member)] = await this.#start();
  }

  async close(): Promise<void> {
    for (const member of this.members.splice(0)) await this.kill(member);
  }

  /** Starts a worker. Retries until the database accepts it. */
  async #start(): Promise<Member> {
    const link = await Link.to(this.#port);
    const options = { url: this.#url(link.port), leaseMs: this.#leaseMs, isolate: true };
    for (const late = Date.now() + 120_000; ; await Bun.sleep(200)) {
      link.target = this.#port;
      try {
        return { link, worker: await TestWorker.start(options, this.#log) };
      } catch (error) {
        if (Date.now() > late) throw error;
      }
    }
  }
}
