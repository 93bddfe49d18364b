import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  createRoot,
  dataPath,
  DiskStore,
  describeOutcome,
  engineFor,
  InfoLog,
  infoPath,
  JournalReader,
  type LoadedBundle,
  loadBundle,
  type Mask,
  maskOf,
  oldJournals,
  openRoot,
  outcomeTag,
  markVariable,
  otherBundle,
  readLog,
  type Root,
  SharedEnv,
  sharedIn,
  StackMapper,
  withStrictSchemas,
  worktreesDir,
} from "@uncaged/workflow/driver";
import {
  type Environment,
  isWorkflowError,
  type StartRecord,
  WorkflowError,
} from "@uncaged/workflow/host";
import type { SharedValues } from "@uncaged/workflow";
import { type ClusterClient, isPassing, quoted } from "../client/client.ts";
import { blobIds } from "../client/transfer.ts";
import { Bundles } from "../mirror/bundles.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import { Claim } from "./claim.ts";
import type { LiveClaim, LiveClaims } from "./live.ts";

/** What a worker drives threads with. */
export type DriverParts = {
  client: ClusterClient;
  /** Keeps bundles, and what is driven just now. */
  cache: string;
  env: Environment;
  /** The folder that threads have as theirs; without it the one that they were started in. */
  cwd?: string;
  /** @see WorkerOptions.hasStateLimit */
  hasStateLimit?: boolean;
  /** Streams what is driven to those who follow it. */
  live: LiveClaims;
  /** Called with one line when a thread can't be driven here for a reason that is not that of the thread. */
  report?: (line: string) => void;
};

/** The order to drive a thread. `signal` is aborted when somebody has taken it away. */
export type Order = { threadId: string; epoch: number; invocation: string; signal: AbortSignal };

/** The attempts of one invocation; the next one waits 0.4 s, and each further one twice as long, up to 5 s. */
const mostAttempts = 4;

/** A thread that was claimed; `start` is the record of one that has no other yet, `again`: this invocation had lost a worker. */
type Held = { meta: ThreadMeta; start?: string; again?: true };
type Claimed = Held | { over: string };
type Driven = { fail: (thrown: unknown) => void; note: (content: string) => void };

/**
 * Drives the threads that a worker is given. Each has its files in a folder of its own while it is driven: nothing of it
 * outlives that.
 */
export class Driver {
  readonly #parts: DriverParts;
  readonly #root: Root;
  readonly #bundles: Bundles;
  readonly #shared: SharedValues;
  readonly #env: Readonly<Record<string, string>>;
  readonly #loaded = new Map<string, Promise<LoadedBundle>>();
  readonly #driven = new Map<string, Driven>();
  #onlyDriven: string | null | undefined;
  readonly #reported = new Map<string, string>();
  #isDraining = false;
  readonly #engines = new Set<ReturnType<typeof engineFor>>();

  constructor(parts: DriverParts) {
    this.#parts = parts;
    this.#root = openRoot({ path: parts.cache });
    createRoot(this.#root);
    this.#bundles = new Bundles(this.#root, parts.client);
    this.#shared = sharedIn(this.#root);
    this.#env = new SharedEnv({ [markVariable]: mark }).with(definedEnv(parts.env));
  }

  /** How to fail the one thread that can have left what nobody caught: the only one ever driven here. */
  get failOnly(): ((thrown: unknown) => void) | null {
    return this.#driven.get(this.#onlyDriven ?? "")?.fail ?? null;
  }

  noteUncaught(thrown: unknown): void {
    const content = `nobody caught, in one of this worker's threads: ${String(thrown)}`;
    for (const { note } of this.#driven.values()) note(content);
  }

  /** Takes the secrets of this worker's environment out of a text. */
  get mask(): Mask {
    return maskOf(this.#env);
  }

  /** How many threads are driven. */
  get count(): number {
    return this.#driven.size;
  }

  /** Whether what it is given to drive is refused. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Has every thread let go at its next yield, so that other workers go on with it; takes no more until {@link accept}. */
  drain(): void {
    this.#isDraining = true;
    for (const { engine } of this.#engines) engine.pause();
  }

  /** Takes threads again. */
  accept(): void {
    this.#isDraining = false;
  }

  /** Has every thread let go, in the middle of a role too. */
  release(): void {
    for (const { engine } of this.#engines) void engine.release();
  }

  /** @see Drive. @throws whatever keeps it from what the object would confirm: it is then tried again elsewhere. */
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

  /** Whether the next attempt of an invocation that has lost workers would come late. */
  async #waitsLong(invocation: string): Promise<boolean> {
    const sql = `SELECT retry_count FROM sys_invocation WHERE id = ${quoted(invocation)}`;
    const [found] = await this.#parts.client.query<{ retry_count?: number }>(sql);
    return (found?.retry_count ?? 0) >= mostAttempts;
  }

  async #driveClaimed(held: Held, live: LiveClaim, order: Order): Promise<string> {
    const folder = mkdtempSync(join(this.#root, "run", "drive-"));
    try {
      return await this.#driveIn(openRoot({ path: folder }), held, live, order);
    } catch (error) {
      if (isWorkflowError(error) && !isPassing(error)) this.#report(held.meta.threadId, error);
      throw error;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  async #driveIn(
    root: Root,
    { meta, start: line, again }: Held,
    live: LiveClaim,
    order: Order,
  ): Promise<string> {
    const { threadId, hash } = meta;
    const { client } = this.#parts;
    const { signal } = order;
    const [bundle, now, waitsLong] = await Promise.all([
      this.#load(hash),
      new Mirror(root, client).sync(threadId, meta, line === undefined ? [] : [Buffer.from(line)]),
      again === true && this.#waitsLong(order.invocation),
    ]);
    if (waitsLong) {
      const renewed = await this.#claim(order, live, meta.claim);
      if ("over" in renewed) return renewed.over;
      throw new Error(`${threadId} was claimed by a worker of another version`);
    }
    if (now?.records !== meta.records) throw new Error(`${threadId} was taken by another worker`);
    const log = readLog(dataPath(root, hash, threadId));
    if (log.kind !== "thread" || log.broken) throw corrupt(threadId);
    const other = otherBundle(threadId, log.start, { hash, sha256: bundle.sha256 });
    if (other) throw other;
    const { start, steps } = log;
    const hasLimit = this.#parts.hasStateLimit === true;
    const claim = new Claim(
      client,
      meta,
      { root, start, steps, journal: log.journal },
      { hasLimit, onWrite: () => live.wrote() },
    );
    const { mask } = this;
    const info = new InfoLog(claim, mask);
    live.begin(infoPath(root, hash, threadId), claim.began);
    const { cwd } = this.#parts;
    // The files have what the cluster has.
    const reader = await JournalReader.open(new DiskStore(root), claim);
    const driven = engineFor({
      store: {
        listBlobs: ({ threadId: id }) => blobIds(client, id),
        readBlob: async ({ threadId: id }, blob) =>
          (await client.state("thread", id, ` AND key = 'b:${blob}'`))[0]?.bytes ?? null,
      },
      claim,
      bundle,
      place: {
        shared: this.#shared,
        // They stay on this machine when the thread is no longer driven.
        worktrees: (id) => worktreesDir(this.#root, id),
        stacks: new StackMapper(this.#root, hash),
      },
      env: this.#env,
      ...(cwd !== undefined && { options: { cwd } }),
      info,
      journal: { reader, old: () => this.#oldEntries(root, start) },
      mask,
      onWait: () => void rest().catch(() => void engine.release()),
    });
    const { engine, fail } = driven;
    const rest = async () => {
      // Whoever goes on with it asks the object, and pauses or waits where that says so.
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
      if (signal.aborted || this.#isDraining) throw new Error("the thread was taken away");
      const payload = { pid: process.pid, steps: steps.length };
      info.event({ tag: "E9K2TNWE", type: "worker_start", stepID: null, payload });
      engine.start();
      const outcome = await engine.done;
      if (outcome.kind !== "ended") info.log(outcomeTag, describeOutcome(outcome));
      info.close();
      await claim.release();
      if (outcome.kind === "ended") return "ended";
      if (outcome.kind === "brokenOff") throw outcome.error;
      // It rests where the object has confirmed that; else somebody has to go on.
      const after = await client.call<Claimed>("thread", threadId, "look", { epoch: meta.epoch });
      if ("over" in after) return after.over;
      throw new Error("the thread was let go");
    } finally {
      claim.abandon();
      this.#engines.delete(driven);
      this.#driven.delete(threadId);
    }
  }

  /** What an earlier version has recorded. What a thread is a fork of is fetched when its roles ask for it. */
  #oldEntries(root: Root, start: StartRecord): ReturnType<typeof oldJournals> {
    const mirror = new Mirror(root, this.#parts.client);
    return oldJournals(root, start, async (threadId) => {
      const meta = await mirror.sync(threadId);
      return meta && { hash: meta.hash, threadId };
    });
  }

  /** A bundle, which is fetched, hashed and imported once; what fails is tried again. */
  #load(hash: string): Promise<LoadedBundle> {
    const known = this.#loaded.get(hash);
    if (known) return known;
    const loaded = this.#bundle(hash);
    this.#loaded.set(hash, loaded);
    loaded.catch(() => this.#loaded.delete(hash));
    return loaded;
  }

  async #bundle(hash: string): Promise<LoadedBundle> {
    await this.#bundles.fetchProven(hash);
    try {
      return await withStrictSchemas(loadBundle(this.#root, hash));
    } catch (error) {
      // The cluster may have it whole the next time.
      if (isWorkflowError(error) && error.code === "BUNDLE_CHANGED") this.#bundles.forget(hash);
      throw error;
    }
  }

  /** Reports why a thread is not driven: once, however often it is tried. */
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

/** What marks the processes of steps: none of them may answer. */
const mark = crypto.randomUUID().slice(0, 8);

const definedEnv = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

const corrupt = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `the records of ${threadId} in the cluster are damaged`,
    "see which: uncaged-workflow verify",
  );
