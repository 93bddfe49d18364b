import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type Claim,
  type ClaimOptions,
  DiskStore,
  type ListQuery,
  type LogName,
  type LogPage,
  type NewThread,
  refusals,
  type RegistryState,
  type Root,
  type RunnableOptions,
  type StoreChange,
  type StoredBundle,
  storeClosed,
  type ThreadInfo,
  type ThreadRef,
  type ThreadStore,
  openRoot,
} from "@uncaged/workflow/store";
import { isThreadId } from "@uncaged/workflow/internal";
import { isWorkflowError, WorkflowError } from "@uncaged/workflow/host";
import { ClusterClient, quoted } from "../client/client.ts";
import { blobIds } from "../client/transfer.ts";
import type { ClusterAddress } from "../cluster/address.ts";
import { Bundles } from "../mirror/bundles.ts";
import { TemporaryFolder } from "../mirror/folder.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { RegistryState as StoredRegistry } from "../service/store.ts";
import { infoOf } from "../thread/info.ts";
import { livePeriod, periodOf, periodsPeriod } from "../thread/row.ts";
import { maxRecordBytes, movedAway, type ThreadMeta } from "../thread/thread.ts";
import { ClusterClaim, type ClaimOptions as ClaimParts } from "./claim.ts";
import { copyClaimed } from "./copy.ts";
import { createIn } from "./create.ts";
import { watchCluster } from "./watch.ts";

export type RestateStoreOptions = {
  /** Folder for the mirror of read threads; defaults to a temporary folder. */
  cache?: string;
  /** @see WorkerOptions.hasStateLimit */
  hasStateLimit?: boolean;
};

/** Sorts after every thread id. */
const afterIds = "a";

/**
 * Opens the thread store of a Restate cluster. Holders of claims drive the threads that the store creates. Workers
 * drive the threads that a host of the cluster started; `runnable` leaves these out. A claim takes over a thread of
 * either kind. The clocks of the workers measure leases, because workers serve the objects: without a worker no write
 * succeeds.
 *
 * @example const store = restateStore(readHostUrl("restate://127.0.0.1:8080", process.env));
 */
export function restateStore(
  cluster: ClusterAddress | ClusterClient,
  options: RestateStoreOptions = {},
): RestateStore {
  const client = cluster instanceof ClusterClient ? cluster : new ClusterClient(cluster);
  return new RestateStore(client, options);
}

/** @see restateStore */
export class RestateStore implements ThreadStore {
  readonly maxRecordBytes = maxRecordBytes;
  readonly #client: ClusterClient;
  readonly #hasStateLimit: boolean;
  readonly #folder: TemporaryFolder | null;
  /** Storage root with the mirror of read threads and bundles. */
  readonly root: Root;
  readonly mirror: Mirror;
  readonly bundles: Bundles;
  /** Disk store on the mirror. */
  readonly #copies: DiskStore;
  readonly #claims = new Set<ClusterClaim>();
  readonly #closed = new AbortController();

  constructor(client: ClusterClient, { cache, hasStateLimit = false }: RestateStoreOptions = {}) {
    this.#client = client;
    this.#hasStateLimit = hasStateLimit;
    this.#folder = cache === undefined ? new TemporaryFolder() : null;
    const root = openRoot({ path: cache ?? join(this.#folder?.path ?? "", "mirror") });
    this.root = root;
    // Copies of claimed threads are in `run`.
    mkdirSync(join(root, "run"), { recursive: true, mode: 0o700 });
    this.mirror = new Mirror(root, client);
    this.#copies = new DiskStore(root);
    this.bundles = new Bundles(root, client);
  }

  async putBundle(bundle: StoredBundle): Promise<void> {
    this.#check();
    await this.bundles.write({ ...bundle, code: bundle.code.slice() });
  }

  async readBundle(hash: string): Promise<StoredBundle | null> {
    this.#check();
    return await this.bundles.read(hash);
  }

  async listBundles(): Promise<string[]> {
    this.#check();
    return await this.bundles.hashes();
  }

  async removeBundle(hash: string): Promise<void> {
    this.#check();
    await this.bundles.discard(hash, Number.MAX_SAFE_INTEGER);
    await this.bundles.remove(hash, Number.MAX_SAFE_INTEGER);
  }

  async readRegistry(): Promise<RegistryState> {
    this.#check();
    const state = await this.#client.value<StoredRegistry>("workflow", "registry", "registry");
    return { text: state?.text ?? "", version: String(state?.revision ?? 0) };
  }

  async replaceRegistry(text: string, expected: string): Promise<boolean> {
    this.#check();
    if (!/^\d{1,15}$/.test(expected)) return false;
    const state: StoredRegistry = { text, revision: Number(expected) };
    const { isSet } = await this.#client.call<{ isSet: boolean }>(
      ...(["workflow", "registry", "set", state] as const),
    );
    return isSet;
  }

  async create(given: NewThread, options?: ClaimOptions) {
    this.#check();
    const { blobsFrom } = given;
    const source = blobsFrom && (await this.#find(blobsFrom.ref));
    const { blobsFrom: _, ...others } = given;
    const claim = options && { owner: options.owner, leaseMs: options.leaseMs };
    const { started, meta } = await createIn(this.#client, source ? given : others, {
      byClaims: claim ? { claim } : {},
      awaits: true,
    });
    const away = movedAway(meta);
    if (away) throw new WorkflowError(away.error);
    const thread = infoOf(meta, Date.now());
    const claimed = started && options ? await this.#claimed(meta) : null;
    return { created: started, thread, claim: claimed };
  }

  async find(threadId: string): Promise<ThreadInfo | null> {
    const meta = await this.#meta(threadId);
    return meta && infoOf(meta, Date.now());
  }

  async list({ before = afterIds, limit = 20, hash }: ListQuery = {}): Promise<ThreadInfo[]> {
    this.#check();
    const latest = isThreadId(before) ? periodOf(before) : null;
    const periods = (await this.#client.keys("index", periodsPeriod)).sort().toReversed();
    const found: ThreadInfo[] = [];
    for (const period of periods) {
      if (latest !== null && period > latest) continue;
      for (let below = before; found.length < limit; ) {
        const pages = Math.min(500, Math.max(limit, 100));
        const where = ` AND key < ${quoted(below)} ORDER BY key DESC LIMIT ${pages}`;
        const rows = await this.#client.state("index", period, where);
        const ids = rows.flatMap(({ key, bytes }) => {
          const row = JSON.parse(bytes.toString("utf8")) as { hash: string };
          return hash === undefined || row.hash === hash ? key : [];
        });
        const metas = await this.#client.values<ThreadMeta>("thread", ids, "meta");
        found.push(...ids.flatMap((id) => infosOf(metas.get(id))));
        if (rows.length < pages) break;
        below = rows.at(-1)?.key ?? "";
      }
    }
    return found.slice(0, limit);
  }

  async remove({ hash, threadId }: ThreadRef): Promise<boolean> {
    this.#check();
    try {
      await this.#client.call("thread", threadId, "remove", { force: true, hash });
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async setPaused({ hash, threadId }: ThreadRef, paused: boolean): Promise<ThreadInfo | null> {
    this.#check();
    try {
      const body = { hash, paused };
      const { meta } = await this.#client.call<{ meta: ThreadMeta }>(
        ...(["thread", threadId, "mark", body] as const),
      );
      return infoOf(meta, Date.now());
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async read(ref: ThreadRef, log: LogName, cursor?: string): Promise<LogPage> {
    await this.#mirrored(ref);
    return await this.#copies.read(ref, log, cursor);
  }

  where({ threadId }: ThreadRef, log: LogName): string {
    return `${this.#client.address.ingress}/thread/${threadId} (${log})`;
  }

  async readValue(ref: ThreadRef, at: number): Promise<string | null> {
    if (!(await this.#find(ref))) return null;
    await this.#mirrored(ref);
    return await this.#copies.readValue(ref, at);
  }

  async readBlob(ref: ThreadRef, id: string): Promise<Uint8Array | null> {
    if (!(await this.#find(ref))) return null;
    const [blob] = await this.#client.state(
      "thread",
      ref.threadId,
      ` AND key = ${quoted(`b:${id}`)}`,
    );
    return blob ? new Uint8Array(blob.bytes) : null;
  }

  async listBlobs(ref: ThreadRef): Promise<string[]> {
    return (await this.#find(ref)) ? (await blobIds(this.#client, ref.threadId)).sort() : [];
  }

  async claim(
    { hash, threadId }: ThreadRef,
    { owner, leaseMs, takeOver = false }: ClaimOptions,
  ): Promise<Claim | null> {
    this.#check();
    const request = { hash, owner, leaseMs, takeOver };
    const held = await this.#client.call<{ meta: ThreadMeta } | { held: true }>(
      ...(["thread", threadId, "hold", request] as const),
    );
    return "meta" in held ? await this.#claimed(held.meta) : null;
  }

  /**
   * Opens the claim that a worker made for its invocation. `line`: the start record of a thread without other records.
   * Returns null when another worker has claimed the thread meanwhile.
   */
  async claimOf(
    meta: ThreadMeta,
    line: string | undefined,
    options: Pick<ClaimParts, "onWrite">,
  ): Promise<ClusterClaim | null> {
    this.#check();
    return await this.#open(meta, line, options);
  }

  async #claimed(meta: ThreadMeta): Promise<ClusterClaim> {
    const claim = await this.#open(meta, undefined, {});
    if (claim) return claim;
    throw refusals.notFound(meta.threadId);
  }

  async #open(
    meta: ThreadMeta,
    line: string | undefined,
    { onWrite }: Pick<ClaimParts, "onWrite">,
  ): Promise<ClusterClaim | null> {
    const copy = await copyClaimed(this.#client, this.root, meta, line);
    if (!copy) return null;
    const claim: ClusterClaim = new ClusterClaim(this.#client, meta, copy, {
      hasStateLimit: this.#hasStateLimit,
      onOver: () => {
        this.#claims.delete(claim);
        copy.remove();
      },
      ...(onWrite && { onWrite }),
    });
    this.#claims.add(claim);
    return claim;
  }

  async runnable({ now, limit, hashes, onlyDue = false }: RunnableOptions): Promise<ThreadInfo[]> {
    this.#check();
    const keys = await this.#client.keys("index", livePeriod, ` AND key < '${afterIds}'`);
    const ids = keys.filter(isThreadId);
    const metas = await this.#client.values<ThreadMeta>("thread", ids, "meta");
    const dueAt = ({ state, updatedAt }: ThreadInfo): number => {
      if (state.kind === "running") return onlyDue ? Infinity : updatedAt;
      const due = state.kind === "waiting" ? (state.dueAt ?? Infinity) : Infinity;
      return due <= now ? due : Infinity;
    };
    return [...metas.values()]
      .filter(({ byClaims, postponedUntil = 0 }) => byClaims && postponedUntil <= now)
      .flatMap((meta) => infosOf(meta))
      .filter(({ hash, paused, owner }) => {
        return !paused && owner === null && (hashes?.includes(hash) ?? true);
      })
      .filter((info) => dueAt(info) < Infinity)
      .toSorted((a, b) => dueAt(a) - dueAt(b))
      .slice(0, limit);
  }

  async postpone({ hash, threadId }: ThreadRef, until: number): Promise<void> {
    this.#check();
    if (!isThreadId(threadId)) return;
    await this.#client.call("thread", threadId, "postpone", { hash, until });
  }

  watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange> {
    return watchCluster(this.#client, AbortSignal.any([signal, this.#closed.signal]), ref);
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    await Promise.all([...this.#claims].map((claim) => claim.release()));
    await this.#copies.close();
    this.#folder?.remove();
  }

  #check(): void {
    if (this.#closed.signal.aborted) throw storeClosed();
  }

  async #meta(threadId: string): Promise<ThreadMeta | null> {
    this.#check();
    return isThreadId(threadId)
      ? await this.#client.value<ThreadMeta>("thread", threadId, "meta")
      : null;
  }

  async #find({ hash, threadId }: ThreadRef): Promise<ThreadMeta | null> {
    const meta = await this.#meta(threadId);
    return meta?.hash === hash ? meta : null;
  }

  /** Brings the mirror of a thread up to date. @throws WorkflowError `THREAD_NOT_FOUND` */
  async #mirrored({ hash, threadId }: ThreadRef): Promise<void> {
    this.#check();
    const meta = isThreadId(threadId) ? await this.mirror.sync(threadId) : null;
    if (meta?.hash !== hash) throw refusals.notFound(threadId);
  }
}

const infosOf = (meta: ThreadMeta | undefined): ThreadInfo[] =>
  meta ? [infoOf(meta, Date.now())] : [];

const isMissing = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "THREAD_NOT_FOUND";
