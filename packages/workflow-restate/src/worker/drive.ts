import {
  type Driving,
  engineFor,
  InfoLog,
  type LoadedBundle,
  loadDriven,
  markVariable,
  readBundle,
  refusals,
  rootJournal,
  rootPlace,
} from "@uncaged/workflow/store";
import { type Environment, isWorkflowError, type WorkflowError } from "@uncaged/workflow/host";
import { type Mask, maskOf } from "@uncaged/workflow/interpreter";
import { type ClusterClient, isPassing, quoted } from "../client/client.ts";
import { sha256 } from "../mirror/bundles.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { ClusterClaim } from "../store/claim.ts";
import { RestateStore } from "../store/store.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { LiveClaim, LiveClaims } from "./live.ts";

/** Dependencies of a {@link Driver}. */
export type DriverParts = {
  client: ClusterClient;
  /** Folder for bundles and for the files of driven threads. */
  cache: string;
  env: Environment;
  /** Working folder of threads; defaults to the folder in which each thread was started. */
  cwd?: string;
  /** @see WorkerOptions.hasStateLimit */
  hasStateLimit?: boolean;
  /** Streams debug logs to observers. */
  live: LiveClaims;
  /** Called with one line when this worker can't drive a thread for a reason outside of the thread. */
  report?: (line: string) => void;
};

/** Order to drive a thread. `signal` aborts when the cluster cancels the order. */
export type Order = { threadId: string; epoch: number; invocation: string; signal: AbortSignal };

/**
 * Maximum attempts of one invocation. Restate would delay the next attempt by 0.4 s, and double the delay for each
 * further attempt, up to 5 s.
 */
const mostAttempts = 4;

/** Event numbers reserved for each claim. */
const seqsOfClaim = 1_000_000;

/**
 * A claimed thread. `start` is its start record when it has no other record; `again`: this invocation lost a worker.
 */
type Held = { meta: ThreadMeta; start?: string; again?: true };
type Claimed = Held | { over: string };
type Driven = { fail: (thrown: unknown) => void; note: (content: string) => void };

/** Drives the threads of a worker. Each thread has a temporary folder while it is driven. */
export class Driver {
  readonly #parts: DriverParts;
  readonly #env: Readonly<Record<string, string>>;
  readonly #loaded = new Map<string, Promise<LoadedBundle>>();
  readonly #driven = new Map<string, Driven>();
  readonly #store: RestateStore;
  #onlyDriven: string | null | undefined;
  readonly #reported = new Map<string, string>();
  #isDraining = false;
  readonly #engines = new Set<ReturnType<typeof engineFor>>();

  constructor(parts: DriverParts) {
    this.#parts = parts;
    const { cache, hasStateLimit = false } = parts;
    this.#store = new RestateStore(parts.client, { cache, hasStateLimit });
    this.#env = Object.freeze({ ...definedEnv(parts.env), [markVariable]: mark });
  }

  /** Fails the thread that threw an uncaught error. Null unless this worker has driven a single thread only. */
  get failOnly(): ((thrown: unknown) => void) | null {
    return this.#driven.get(this.#onlyDriven ?? "")?.fail ?? null;
  }

  noteUncaught(thrown: unknown): void {
    const content = `uncaught in one of this worker's threads: ${String(thrown)}`;
    for (const { note } of this.#driven.values()) note(content);
  }

  /** Masks the secrets of this worker's environment in a text. */
  get mask(): Mask {
    return maskOf(this.#env);
  }

  /** Number of driven threads. */
  get count(): number {
    return this.#driven.size;
  }

  /** Whether this worker refuses new orders. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Releases every thread at its next yield, so that other workers continue it. Refuses orders until {@link accept}.
   */
  drain(): void {
    this.#isDraining = true;
    for (const { engine } of this.#engines) engine.pause();
  }

  /** Accepts orders again. */
  accept(): void {
    this.#isDraining = false;
  }

  /** Releases every thread at once, even in the middle of a role. */
  release(): void {
    for (const { engine } of this.#engines) void engine.release();
  }

  /**
   * Drives the thread of an order until it rests.
   * @see Drive
   * @throws if the thread's object does not confirm that the drive is over. Restate then retries the drive elsewhere.
   */
  async drive(order: Order): Promise<string> {
    if (this.#isDraining) throw new Error("the worker is draining");
    const live = this.#parts.live.open();
    try {
      const claimed = await this.#claim(order, live);
      if ("over" in claimed) return claimed.over;
      return await this.#driveClaimed(claimed, live, order);
    } finally {
      live.end();
    }
  }

  #claim(order: Order, live: LiveClaim, renews?: number): Promise<Claimed> {
    const { threadId, epoch, invocation, signal } = order;
    const own = { pid: process.pid, now: Date.now(), live: live.address };
    const request = { epoch, invocation, ...own, ...(renews !== undefined && { renews }) };
    return this.#parts.client.call("thread", threadId, "claim", request, { signal });
  }

  /** Whether Restate would retry an invocation only after a long delay. */
  async #waitsLong(invocation: string): Promise<boolean> {
    const sql = `SELECT retry_count FROM sys_invocation WHERE id = ${quoted(invocation)}`;
    const [found] = await this.#parts.client.query<{ retry_count?: number }>(sql);
    return (found?.retry_count ?? 0) >= mostAttempts;
  }

  async #driveClaimed(held: Held, live: LiveClaim, order: Order): Promise<string> {
    try {
      return await this.#driveHeld(held, live, order);
    } catch (error) {
      if (isWorkflowError(error) && !isPassing(error)) this.#report(held.meta.threadId, error);
      throw error;
    }
  }

  async #driveHeld({ meta, start, again }: Held, live: LiveClaim, order: Order): Promise<string> {
    const { threadId, hash } = meta;
    const { client } = this.#parts;
    const { signal } = order;
    const claiming = this.#store.claimOf(meta, start, { onWrite: () => live.wrote() });
    const [claim, waitsLong] = await Promise.all([
      claiming,
      again === true && this.#waitsLong(order.invocation),
    ]).catch(async (error: unknown) => {
      const claimed = await claiming.catch(() => null);
      claimed?.abandon();
      throw error;
    });
    if (waitsLong) {
      claim?.abandon();
      const renewed = await this.#claim(order, live, meta.claim);
      if ("over" in renewed) return renewed.over;
      throw new Error(`${threadId} was claimed by a worker of another version`);
    }
    if (!claim) throw new Error(`${threadId} was claimed by another worker`);
    const [bundle, journal] = await this.#load(claim)
      .then(async (loaded) => [loaded, await this.#journalOf(claim)] as const)
      .catch((error: unknown) => {
        claim.abandon();
        throw error;
      });
    const { mask } = this;
    // Event numbers must be unique, but a lost claim may have used numbers that the cluster never recorded.
    const lastSeq = Math.max(claim.lastSeq, (claim.fence - 1) * seqsOfClaim);
    const info = new InfoLog(
      {
        lastSeq,
        event: (lines) => claim.event(lines),
        keepValue: (json) => claim.keepValue(json),
      },
      mask,
    );
    live.begin(claim.files.info, claim.began);
    const { cwd } = this.#parts;
    const driven = engineFor({
      store: this.#store,
      claim,
      bundle,
      // Worktrees outlive the drive on this machine.
      place: rootPlace(this.#store.root, hash),
      env: this.#env,
      ...(cwd !== undefined && { options: { cwd } }),
      info,
      journal,
      mask,
      onWait: () => void rest().catch(() => void engine.release()),
    });
    const { engine, fail } = driven;
    const rest = async () => {
      // The next worker reads from the object whether the thread is paused or waits.
      if (this.#isDraining && engine.status === "paused") await engine.release();
      else if (await claim.park()) await engine.release();
      else engine.resume();
    };
    const release = () => {
      claim.abandon();
      void engine.release();
    };
    claim.onPause = () => engine.pause();
    claim.onAppend = () => live.appended();
    signal.addEventListener("abort", release);
    this.#engines.add(driven);
    this.#begin(threadId, { fail, note: (content) => info.log("R5DM7YB3", content) });
    try {
      if (signal.aborted || this.#isDraining) throw new Error("the drive was canceled");
      const payload = { pid: process.pid, steps: claim.steps.length };
      info.event({ tag: "E9K2TNWE", type: "worker_start", stepID: null, payload });
      engine.start();
      const outcome = await engine.done;
      info.close();
      await claim.release();
      if (outcome.kind === "ended") return "ended";
      if (outcome.kind === "brokenOff") throw outcome.error;
      // Only the object can confirm that the thread rests. Otherwise another worker must continue it.
      const after = await client.call<Claimed>("thread", threadId, "look", { epoch: meta.epoch });
      if ("over" in after) return after.over;
      throw new Error("the thread does not rest");
    } finally {
      claim.abandon();
      this.#engines.delete(driven);
      this.#driven.delete(threadId);
    }
  }

  /** Returns the journal of a claimed thread. @throws WorkflowError `LOG_CORRUPT` */
  async #journalOf(claim: ClusterClaim): Promise<Driving["journal"]> {
    const { root } = claim;
    const mirror = new Mirror(root, this.#parts.client);
    return await rootJournal(root, claim, async (threadId) => {
      const meta = await mirror.sync(threadId);
      return meta && { hash: meta.hash, threadId };
    });
  }

  /**
   * Fetches, checks and imports a thread's bundle once. Does not cache a failure. Never imports a bundle that differs
   * from the hash in the thread's start record.
   * @throws WorkflowError `BUNDLE_CHANGED`
   */
  async #load(claim: ClusterClaim): Promise<LoadedBundle> {
    const { hash } = claim.ref;
    const known = this.#loaded.get(hash);
    if (known) {
      const bundle = await known;
      checkStartedWith(claim, bundle.sha256);
      return bundle;
    }
    const loaded = this.#bundle(claim);
    this.#loaded.set(hash, loaded);
    loaded.catch(() => this.#loaded.delete(hash));
    return await loaded;
  }

  async #bundle(claim: ClusterClaim): Promise<LoadedBundle> {
    const { hash } = claim.ref;
    const { root, bundles } = this.#store;
    await bundles.fetchProven(hash);
    try {
      checkStartedWith(claim, sha256(await readBundle(root, hash)));
      return await loadDriven(root, hash);
    } catch (error) {
      // The next fetch may get intact bytes.
      if (isWorkflowError(error) && error.code === "BUNDLE_CHANGED") await bundles.forget(hash);
      throw error;
    }
  }

  /** Reports why a thread can't be driven, once per thread and error code. */
  #report(threadId: string, { code, message, hint }: WorkflowError): void {
    const line = `${threadId} can't be driven: ${message} (${code}); hint: ${hint}`;
    if (this.#reported.get(threadId) === code) return;
    this.#reported.set(threadId, code);
    this.#parts.report?.(line);
  }

  #begin(threadId: string, driven: Driven): void {
    const isOther = this.#onlyDriven !== undefined && this.#onlyDriven !== threadId;
    this.#onlyDriven = isOther ? null : threadId;
    this.#driven.set(threadId, driven);
    this.#reported.delete(threadId);
  }
}

/** Checks the SHA-256 of the bundle with which a thread was started. @throws WorkflowError `BUNDLE_CHANGED` */
function checkStartedWith({ ref, start }: ClusterClaim, own: string): void {
  const other = refusals.otherBundle(ref.threadId, start, { hash: ref.hash, sha256: own });
  if (other) throw other;
}

/** Mark in the environment of step processes, which must not answer questions. */
const mark = crypto.randomUUID().slice(0, 8);

const definedEnv = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
