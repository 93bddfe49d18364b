import type { Happened } from "../../../workflow-restate/test/faults/takeover.ts";
import type { TestWorker } from "../fixtures/workers.ts";
import type { Fleet, Member } from "./fleet.ts";
import { cuts, type Link } from "../../../workflow-restate/test/faults/link.ts";
import { pick } from "../../../workflow-restate/test/faults/random.ts";
import { mayMount, type Servers } from "./servers.ts";

export const kinds = [
  ...["kill", "freeze", "server", "failover", "disk", "network", "terminate", "cancel"],
  ...["timeout", "serializable", "deadlock", "connections", "commands"],
] as const;
export type Kind = string;
/** Faults of the whole server, which can't overlap. */
const ofServer: readonly Kind[] = ["server", "failover", "disk"];
/** Relative frequency of each kind; 1 by default. A failover waits for a new replica. */
const weights: Readonly<Record<Kind, number>> = { failover: 0.5, kill: 2, freeze: 2, network: 2 };

type Parts = {
  servers: Servers;
  fleet: Fleet;
  /** The link between the host that sends commands and the server. */
  way: Link;
  schema: string;
  leaseMs: number;
  random: () => number;
};

/** Makes servers, workers, connections and statements fail, and records the times. */
export class Acts {
  readonly happened: Happened[] = [];
  readonly #heldUp = new Map<number, number>();
  readonly #parts: Parts;
  readonly #random: () => number;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#random = parts.random;
  }

  /** Number of times that a fault held up a process. */
  heldUp = (pid: number): number => this.#heldUp.get(pid) ?? 0;

  /** Draws one fault of the given kinds, or two simultaneous faults. */
  draw(all: readonly Kind[], most: number): Kind[] {
    const able = all.filter((kind) => mayMount || kind !== "disk");
    const first = this.#drawn(able);
    const others = able.filter((kind) => !(ofServer.includes(kind) && ofServer.includes(first)));
    const second = this.#drawn(others.length > 0 ? others : able);
    return most > 1 && this.#random() < 0.4 && first !== second ? [first, second] : [first];
  }

  #drawn(all: readonly Kind[]): Kind {
    let left = this.#random() * all.reduce((sum, kind) => sum + (weights[kind] ?? 1), 0);
    return all.find((kind) => (left -= weights[kind] ?? 1) < 0) ?? (all[0] as Kind);
  }

  /** Runs a fault. Resolves after its end. */
  async happen(kind: Kind): Promise<void> {
    const member = pick(this.#parts.fleet.members, this.#random);
    const happened: Happened = { kind, from: Date.now(), to: Number.POSITIVE_INFINITY };
    if (kind === "kill" || kind === "freeze") happened.lost = member.worker.process.pid;
    this.happened.push(happened);
    await this.#acts[kind]?.(member);
    happened.to = Date.now();
  }

  readonly #acts: Readonly<Record<Kind, (member: Member) => Promise<void>>> = {
    kill: async (member) => {
      const { fleet } = this.#parts;
      await fleet.kill(member);
      await Bun.sleep(this.#random() * 500);
      await fleet.replace(member);
    },
    freeze: async ({ worker }) => {
      this.#holdUp(worker.process.pid);
      worker.freeze();
      const { leaseMs } = this.#parts;
      const [how, part] = [this.#random(), this.#random()];
      if (how < 0.25) await Bun.sleep(part * leaseMs);
      else if (how < 0.5) await Bun.sleep(leaseMs * 1.7);
      else await this.#overtaken(worker, how < 0.7 ? "expiry" : part < 0.5 ? "claim" : "death");
      worker.thaw();
    },
    server: () => this.#parts.servers.crash(this.#random() * 1000),
    failover: async () => {
      const { servers, fleet, way } = this.#parts;
      await servers.failOver((port) => {
        fleet.retarget(port);
        way.target = port;
      });
    },
    disk: () => this.#parts.servers.fillDisk(500 + this.#random() * 2000),
    network: async ({ worker, link }) => {
      const how = pick(cuts, this.#random);
      this.#holdUp(worker.process.pid);
      link.cut(how, 20 + this.#random() * 400);
      await Bun.sleep(500 + this.#random() * this.#parts.leaseMs * 2);
      link.restore();
    },
    terminate: async () => void (await this.#signal("pg_terminate_backend", 0.6)),
    cancel: async () => {
      for (let n = 0; n < 20; n += 1) {
        await this.#signal("pg_cancel_backend", 1);
        await Bun.sleep(this.#random() * 40);
      }
    },
    timeout: () => this.#withSetting("statement_timeout = '3ms'"),
    serializable: () => this.#withSetting("default_transaction_isolation = 'serializable'"),
    connections: async () => {
      await this.#parts.servers.sql("ALTER ROLE app CONNECTION LIMIT 3");
      await this.#signal("pg_terminate_backend", 1);
      await Bun.sleep(500 + this.#random() * 2000);
      await this.#parts.servers.sql("ALTER ROLE app CONNECTION LIMIT -1");
    },
    deadlock: async () => {
      const rows = await this.#parts.servers.sql<{ thread_id: string }>(
        `SELECT thread_id FROM ${this.#parts.schema}.threads WHERE state = 'running' ORDER BY random() LIMIT 6`,
      );
      const locks = rows.map(
        ({ thread_id }) =>
          `PERFORM 1 FROM ${this.#parts.schema}.threads WHERE thread_id = '${thread_id}' FOR UPDATE; PERFORM pg_sleep(0.05);`,
      );
      const lock = `DO $$ BEGIN ${locks.join(" ")} EXCEPTION WHEN deadlock_detected THEN NULL; END $$`;
      for (let n = 0; n < 4; n += 1) await this.#parts.servers.sql(lock);
    },
  };

  /**
   * Waits until a frozen worker has lost a thread: its lease has ended (`expiry`), or another worker has claimed the
   * thread (`claim`), in the case of `death` because the connections of the frozen worker are closed. Then only the
   * store can reject the next write of the thawed worker: the next holder has not yet written, and after `death` the
   * lease still lasts by the worker's own clock.
   */
  async #overtaken({ owner, process }: TestWorker, by: "expiry" | "claim" | "death") {
    const { schema, servers, leaseMs } = this.#parts;
    const until = Date.now() + leaseMs * 1.7;
    if (by === "death") {
      await servers.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
        [`uncaged-workflow ${process.pid}`],
      );
    }
    const held = await servers.sql<{ thread_id: string; ms: number }>(
      `SELECT thread_id, extract(epoch FROM lease_until - clock_timestamp())::float8 * 1000 AS ms
       FROM ${schema}.threads WHERE owner = $1 AND state = 'running'`,
      [owner],
    );
    if (held.length === 0) return;
    // Other workers claim an expired thread within milliseconds, so polling would find the expiry too late.
    if (by === "expiry") return await Bun.sleep(pick(held, this.#random).ms + 1);
    const ids = held.map(({ thread_id }) => thread_id);
    const taken = `SELECT FROM ${schema}.threads WHERE thread_id = ANY($1) AND owner <> $2 LIMIT 1`;
    while (Date.now() < until && (await servers.sql(taken, [ids, owner])).length === 0);
  }

  /** Changes a setting of the role of all workers for a while, and closes their connections to apply the setting. */
  async #withSetting(setting: string): Promise<void> {
    await this.#parts.servers.sql(`ALTER ROLE app SET ${setting}`);
    await this.#signal("pg_terminate_backend", 1);
    await Bun.sleep(500 + this.#random() * 2500);
    await this.#parts.servers.sql(`ALTER ROLE app RESET ${setting.split(" ")[0]}`);
    await this.#signal("pg_terminate_backend", 1);
  }

  #signal(how: string, part: number) {
    return this.#parts.servers.sql(
      `SELECT ${how}(pid) FROM pg_stat_activity WHERE usename = 'app' AND random() < ${part}`,
    );
  }

  #holdUp(pid: number): void {
    this.#heldUp.set(pid, (this.#heldUp.get(pid) ?? 0) + 1);
  }
}
