import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { newFolder, PostgresServer, run } from "../fixtures/server.ts";

/** The size of a server's disk in MiB. A full disk stops its tables and its write-ahead log. */
const diskMb = 512;
/** Whether this process may mount file systems with a size limit. */
export const mayMount = process.getuid?.() === 0;

const settings = {
  ...{ max_connections: "80", shared_buffers: "32MB", max_wal_size: "64MB", min_wal_size: "32MB" },
  ...{ wal_keep_size: "64MB", wal_retrieve_retry_interval: "200ms", wal_receiver_timeout: "3s" },
  ...{ wal_sender_timeout: "3s", deadlock_timeout: "50ms", log_min_messages: "fatal" },
  ...{ restart_after_crash: "on", log_min_error_statement: "panic" },
};

type Member = { server: PostgresServer; disk: string | null };

/** A primary server and its synchronous replica. Every acknowledged transaction is on both. */
export class Servers {
  #primary: Member;
  #replica: Member | null = null;

  private constructor(primary: Member) {
    this.#primary = primary;
  }

  static async start(): Promise<Servers> {
    const disk = newDisk();
    const folder = newFolder(disk ?? undefined);
    const servers = new Servers({ server: await PostgresServer.start({ settings, folder }), disk });
    await servers.sql("CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO app");
    await servers.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await servers.#addReplica();
    await servers.sql("SELECT pg_reload_conf()");
    return servers;
  }

  get port(): number {
    return this.#primary.server.port;
  }

  /** Runs a statement as the superuser. Retries until the server responds. */
  async sql<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    for (const late = Date.now() + 90_000; ; await Bun.sleep(100)) {
      const client = new pg.Client({
        connectionString: this.#primary.server.url(),
        ...{ application_name: "auditor", connectionTimeoutMillis: 5000, query_timeout: 30_000 },
      });
      client.on("error", () => undefined);
      try {
        await client.connect();
        const found = await client.query<Row>(text, values);
        return found.rows;
      } catch (error) {
        if (Date.now() > late) throw error;
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  /** Kills the primary like a power failure, and restarts it. */
  async crash(pauseMs: number): Promise<void> {
    await this.#primary.server.kill();
    await Bun.sleep(pauseMs);
    await this.#primary.server.restart();
  }

  /**
   * Kills the primary permanently, promotes the replica, and starts a new replica. Resolves when the new replica is in
   * sync.
   */
  async failOver(onPromoted: (port: number) => void): Promise<void> {
    await this.#inSync();
    const [old, next] = [this.#primary, this.#replica];
    if (!next) throw new Error("missing replica");
    await old.server.kill();
    await run("pg_ctl", "promote", "-w", "-D", next.server.folder);
    this.#primary = next;
    this.#replica = null;
    onPromoted(this.port);
    await discard(old);
    await this.#addReplica();
  }

  /** Fills the disk of the primary, and frees the space again. */
  async fillDisk(forMs: number): Promise<void> {
    const { disk } = this.#primary;
    if (disk === null) return;
    const filler = join(disk, "filler");
    for (let bytes = 1 << 20; bytes >= 512; ) {
      try {
        writeFileSync(filler, new Uint8Array(bytes), { flag: "a" });
      } catch {
        bytes >>= 1;
      }
    }
    await Bun.sleep(forMs);
    rmSync(filler);
    if (!this.#primary.server.isRunning) await this.#primary.server.restart();
  }

  async close(): Promise<void> {
    for (const member of [this.#replica, this.#primary]) if (member) await discard(member);
  }

  async #addReplica(): Promise<void> {
    const disk = newDisk();
    const folder = newFolder(disk ?? undefined);
    const from = `host=127.0.0.1 port=${this.port} user=uncaged application_name=replica`;
    await run("pg_basebackup", "-d", from, "-D", folder, "-R", "-X", "stream", "-c", "fast");
    const server = await PostgresServer.start({ settings, data: folder });
    this.#replica = { server, disk };
    await this.#inSync();
  }

  /** Waits until the replica has received everything from the primary. */
  async #inSync(): Promise<void> {
    const sql = `SELECT 1 FROM pg_stat_replication
      WHERE state = 'streaming' AND flush_lsn >= pg_current_wal_flush_lsn()`;
    for (const late = Date.now() + 60_000; Date.now() < late; await Bun.sleep(20)) {
      if ((await this.sql(sql)).length > 0) return;
    }
    throw new Error("the replica is not in sync");
  }
}

function newDisk(): string | null {
  if (!mayMount) return null;
  const disk = mkdtempSync(join(tmpdir(), "postgres-disk-"));
  const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${diskMb}m`, "tmpfs", disk]);
  if (mounted.exitCode === 0) return disk;
  rmSync(disk, { recursive: true });
  return null;
}

async function discard({ server, disk }: Member): Promise<void> {
  await server.kill();
  if (disk === null) return await server.remove();
  Bun.spawnSync(["umount", "-l", disk]);
  rmSync(disk, { recursive: true, force: true });
}
