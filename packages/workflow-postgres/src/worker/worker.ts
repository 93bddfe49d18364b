import { hostname } from "node:os";
import type { Environment } from "@uncaged/workflow/host";
import { messageOf } from "@uncaged/workflow/internal";
import { driveStore } from "@uncaged/workflow/store";
import { readDatabaseUrl } from "../database/address.ts";
import { Database, type DatabaseOptions } from "../database/database.ts";
import { deleteEnded, ensurePartitions, type Partition } from "../schema/partitions.ts";
import { openPostgresStore, type PostgresStore } from "../store/store.ts";
import { checkClock } from "./clock.ts";

/** Options of {@link servePostgresWorker}. */
export type PostgresWorkerOptions = {
  /** URL of the database. `url`, `schema` and `pool` have the meaning of `PostgresHostOptions`. */
  url: string;
  schema?: string;
  pool?: number;
  /** Folder of this worker for bundles and worktrees. It may be deleted after the worker has ended. */
  cache: string;
  /** Environment of threads. The worker never writes it to a log. */
  env: Environment;
  /** Working folder of threads; by default the folder in which each thread was started, on this machine. */
  cwd?: string;
  /** Maximum number of concurrently driven threads; 100 by default. */
  threads?: number;
  /** Duration of the leases in milliseconds: the threads of a frozen worker continue elsewhere after that time. */
  leaseMs?: number;
  /** The period of a partition of logs; a month by default. */
  partition?: Partition;
  /** Time after its end at which a thread is deleted, in milliseconds. By default no thread is deleted. */
  keepMs?: number;
  /**
   * Whether bundles own this process: their output goes to the logs of their threads, and they can't end the process.
   */
  isolate?: boolean;
  /** Called with one line when this worker can't drive a thread, or can't reach the database. */
  report?: (line: string) => void;
};

/** A worker that drives threads until `close`. */
export type PostgresWorker = {
  /** The owner of the worker's claims, as shown in lists. */
  owner: string;
  /** Number of driven threads. */
  readonly count: number;
  /** Releases the threads at their next yields, so that other workers continue them, and closes the connections. */
  close(): Promise<void>;
};

const upkeepEveryMs = 60 * 60 * 1000;
const clockEveryMs = 60 * 1000;

/**
 * Drives the threads of a PostgreSQL database in this process. Several workers, on several machines, can drive
 * the threads of one database.
 * @throws WorkflowError `CLOCK_OFF`, and the errors of `openPostgresHost`
 */
export async function servePostgresWorker(options: PostgresWorkerOptions): Promise<PostgresWorker> {
  const { url, schema, pool, threads, partition = "month", keepMs, report } = options;
  const { cache, env, cwd, leaseMs, isolate } = options;
  const address = readDatabaseUrl(url, schema);
  const upkeep = new Database(address, { pool: 1 });
  const store = await opened(upkeep, { ...(pool !== undefined && { pool }) });
  const name = crypto.randomUUID().slice(0, 8);
  const owner = `${hostname()} ${name}, process ${process.pid}`;
  try {
    await ensurePartitions(upkeep, partition);
    const worker = await driveStore(store, {
      ...{ owner, cache, env, cwd, leaseMs, isolate, report },
      ...(threads !== undefined && { limit: threads }),
    });
    store.attend(owner);
    const tend = async (): Promise<void> => {
      await ensurePartitions(upkeep, partition);
      if (keepMs !== undefined) await deleteEnded(upkeep, Date.now() - keepMs);
    };
    const reporting = (act: () => Promise<void>) => () =>
      void act().catch((error: unknown) => report?.(messageOf(error)));
    reporting(tend)();
    const timers = [
      setInterval(reporting(tend), upkeepEveryMs),
      setInterval(
        reporting(() => checkClock(upkeep)),
        clockEveryMs,
      ),
    ];
    return {
      owner,
      get count() {
        return worker.count;
      },
      async close() {
        for (const timer of timers) clearInterval(timer);
        await worker.close();
        await store.close();
        await upkeep.close();
      },
    };
  } catch (error) {
    await store.close();
    await upkeep.close();
    throw error;
  }
}

/** Opens the store of a worker. Checks the clock first, so that a worker with a wrong clock writes nothing. */
async function opened(upkeep: Database, options: DatabaseOptions): Promise<PostgresStore> {
  try {
    await checkClock(upkeep);
    return await openPostgresStore(upkeep.address, options);
  } catch (error) {
    await upkeep.close();
    throw error;
  }
}
