/*
 * The auditor checks the disk after each call that changes a log, with its own log reader. It stores the records that
 * it saw and the replies to commands.
 *
 * A1 A record that a reader could see is on the disk, and stays in its log, unchanged.
 * A2 A step runs after all steps before it are committed, and does not run again after its own commit.
 * A3 Only one living process drives a thread.
 * A4 An acknowledged change holds, even after a loss of power.
 * A5 An id has one thread.
 * A6 The bundle of a thread or of a registered version is not deleted.
 * A7 A thread that is asleep after a loss of power has an entry in `due/`.
 *
 * In a file with a flipped bit, A1 holds unless the product reports the damage.
 */
import { type FileInode, type Inode, logOf } from "./disk.ts";
import type { DiskWatch } from "./calls.ts";
import { bundleOf, type Commit, dueThreadOf, parseLog, registered } from "./reader.ts";
import type { Process, World } from "./world.ts";

/** State of a thread as seen by clients. */
export type Seen = {
  readonly hash: string;
  readonly threadId: string;
  /** Bytes that a reader could see, and their records. */
  shown: Buffer;
  commits: Commit[];
  /** Number of records at the creation of the log: the start record, and the copied steps of a fork. */
  first: number;
  isThere: boolean;
  /** Whether the last record ends with a newline. A power loss can remove the newline; readers ignore such a record. */
  isEnded: boolean;
  removal: "none" | "asked" | "done";
  isAcknowledged: boolean;
  isDamaged: boolean;
  /** Whether the product has reported the damage; after a flipped bit, also whether the log had an incomplete end. */
  isNamed: boolean;
  isOver: boolean;
  /** Whether the worker does not sync this log. */
  isUnsynced: boolean;
  /** Number of replies that reported a wake-up of the thread. */
  woken: number;
  /** Processes that drove the thread, in order. */
  drivers: Process[];
};

export class Auditor implements DiskWatch {
  readonly threads = new Map<string, Seen>();
  readonly failures: string[] = [];
  /** Versions with an acknowledged registration. */
  readonly versions: { name: string; hash: string }[] = [];
  isRegistryDamaged = false;
  readonly damagedBundles = new Set<string>();
  /** Called at any call of a process, to read a log at that moment. */
  onMoment: ((process: Process) => void) | null = null;
  readonly #world: World;
  readonly #root: string;

  constructor(world: World, root: string) {
    this.#world = world;
    this.#root = root;
  }

  fail(text: string): void {
    this.failures.push(text);
    this.#world.note(`VIOLATION ${text}`);
  }

  /** Called when a workflow starts its nth step (from 0). */
  executed(threadId: string, n: number): void {
    const seen = this.#find(threadId);
    if (!seen) return this.fail(`step ${n} of ${threadId} runs without a log`);
    this.#drives(seen);
    const committed = stepsOf(seen);
    if (n < committed) this.fail(`step ${n} of ${threadId} runs again after its commit`);
    if (n > committed && !seen.isDamaged) {
      this.fail(`step ${n} of ${threadId} runs after only ${committed} committed steps`);
    }
  }

  registered(): void {
    this.#checkRegistry();
  }

  started(threadId: string): void {
    const seen = this.#find(threadId);
    if (!seen) return this.fail(`the start of ${threadId} was acknowledged without a log`);
    if (seen.removal === "none") seen.isAcknowledged = true;
    if (!seen.isUnsynced && seen.isThere && !this.#isNameSynced(seen))
      this.fail(`the start of ${threadId} was acknowledged before its folder was synced`);
  }

  answered(threadId: string, requestId: string): void {
    const seen = this.#find(threadId);
    if (!seen || seen.isDamaged || seen.removal !== "none") return;
    const count = seen.commits.filter((one) => one.requestId === requestId).length;
    if (count !== 1)
      this.fail(`an acknowledged answer is in the log of ${threadId} ${count} times`);
  }

  /** Called once per sleep of a thread, when it wakes. A thread has another step before it sleeps again. */
  woken(threadId: string): void {
    const seen = this.#find(threadId);
    if (!seen || seen.isDamaged || seen.removal !== "none") return;
    const wakings = seen.commits.filter(({ isWaking }) => isWaking).length;
    seen.woken += 1;
    if (seen.woken > wakings)
      this.fail(`${threadId} was woken ${seen.woken} times, but ${wakings} times by its log`);
  }

  killed(threadId: string): void {
    const seen = this.#find(threadId);
    if (seen && !seen.isDamaged && seen.removal === "none" && !hasEnded(seen))
      this.fail(`the kill of ${threadId} was acknowledged without an end record`);
  }

  asksRemoval(threadId: string): void {
    const seen = this.#find(threadId);
    if (seen?.removal === "none") seen.removal = "asked";
  }

  removed(threadId: string): void {
    const seen = this.#find(threadId);
    if (!seen) return;
    if (seen.isThere) return this.fail(`${threadId} was removed, but its log exists`);
    seen.removal = "done";
  }

  /** Called when a reader of the product has seen this many steps, and possibly an end. */
  read(threadId: string, steps: number, isEnded: boolean): void {
    const seen = this.#find(threadId);
    if (!seen || seen.isDamaged || seen.removal !== "none") return;
    const committed = stepsOf(seen);
    if (steps > committed) this.fail(`a reader of ${threadId} saw ${steps} steps of ${committed}`);
    if (isEnded && !hasEnded(seen))
      this.fail(`a reader of ${threadId} saw an end without an end record`);
  }

  onLog(inode: FileInode): void {
    const { hash, threadId } = inode.log as { hash: string; threadId: string };
    const { view } = inode.cache;
    const seen = this.#seen(hash, threadId);
    if (inode.isFlipped) seen.isDamaged = true;
    if (this.#world.current?.role === "worker") this.#drives(seen);
    if (!seen.isDamaged && !covers(view, seen.shown))
      return this.fail(`records of ${threadId} that were shown are missing or changed`);
    const end = view.lastIndexOf(10) + 1;
    if (end >= seen.shown.length) seen.isEnded = true;
    if (end <= seen.shown.length) return;
    const isNew = seen.shown.length === 0;
    const commits = parseLog(view.subarray(seen.shown.length, end), isNew);
    if (commits === null) {
      if (!seen.isDamaged) this.fail(`a line of ${threadId} is not a record`);
      return;
    }
    seen.commits.push(...commits);
    seen.shown = Buffer.from(view.subarray(0, end));
    if (isNew) this.#appeared(seen, commits);
    this.#checkCommits(seen);
    if (seen.isUnsynced || seen.isDamaged) return;
    if (!covers(inode.platter.view, seen.shown))
      this.fail(`a record of ${threadId} can be read before it is on the disk`);
    else if (!isNew && !this.#isNameSynced(seen))
      this.fail(`a record of ${threadId} can be read before its folder was synced`);
  }

  onNamed(path: string, _inode: Inode): void {
    if (path === `${this.#root}/workflow.yaml`) this.#checkRegistry();
  }

  onRemoved(path: string): void {
    const hash = bundleOf(path);
    if (hash !== null) this.#bundleGone(hash);
    const due = dueThreadOf(path);
    if (due) this.#checkDue(due);
    const log = logOf(path);
    const seen = log && this.#find(log.threadId);
    if (!seen || !path.endsWith(".data.jsonl")) return;
    seen.isThere = false;
    const isFirst = seen.commits.length === seen.first && !seen.isAcknowledged;
    // A start that could not be made durable is undone before the client gets a reply.
    if (seen.removal === "none" && isFirst) this.threads.delete(keyOf(seen));
    else if (seen.removal === "none")
      this.fail(`the log of ${seen.threadId} was removed without a request`);
  }

  onFlip(path: string): void {
    if (path.endsWith("/workflow.yaml")) this.isRegistryDamaged = true;
    const hash = bundleOf(path);
    if (hash !== null) this.damagedBundles.add(hash);
    const log = [...this.threads.values()].find((seen) => path === this.#pathOf(seen));
    if (!log) return;
    log.isDamaged = true;
    if (!log.isEnded) log.isNamed = true;
  }

  /** Checks that the disk still has everything that a reader saw before a power loss. */
  onPower(): void {
    for (const seen of this.threads.values()) {
      const inode = this.#world.disk.at(this.#pathOf(seen));
      const bytes = inode?.kind === "file" ? inode.cache.view : null;
      if (seen.removal === "done" && bytes)
        this.fail(`${seen.threadId} exists again after its removal`);
      seen.isEnded = bytes?.[seen.shown.length - 1] === 10;
      if (seen.isUnsynced && seen.removal !== "done") {
        this.threads.delete(keyOf(seen));
        continue;
      }
      if (seen.removal !== "none") {
        seen.isThere = bytes !== null;
        continue;
      }
      if (inode?.kind === "file" && inode.hasHole) seen.isDamaged = true;
      // A damaged record without a newline looks like an incomplete record, so the product can't report the damage.
      if (seen.isDamaged && !seen.isEnded) seen.isNamed = true;
      if (inode?.kind === "file" && inode.isFlippedInCache) seen.isNamed = true;
      if (seen.isDamaged) continue;
      const isFirst = seen.commits.length === seen.first && !seen.isAcknowledged;
      if (bytes === null && isFirst) this.threads.delete(keyOf(seen));
      else if (bytes === null || !covers(bytes, seen.shown))
        this.fail(`the loss of power lost shown records of ${seen.threadId}`);
    }
    this.#adoptUnsynced();
    this.#checkRegistry();
    for (const { hash } of this.versions) this.#checkBundle(hash);
  }

  onCall(process: Process): void {
    this.onMoment?.(process);
  }

  /** Whether the log on the disk equals the bytes that readers saw. */
  isIntact(seen: Seen): boolean {
    const inode = this.#world.disk.at(this.#pathOf(seen));
    return inode?.kind === "file" && covers(inode.cache.view, seen.shown);
  }

  // An unsynced log may have lost all records but its start. The auditor continues with the remaining records.
  #adoptUnsynced(): void {
    for (const [path, inode] of this.#world.disk.files()) {
      if (!path.endsWith(".data.jsonl") || !inode.log) continue;
      const seen = this.threads.get(keyOf(inode.log));
      if (seen) continue;
      const end = inode.cache.view.lastIndexOf(10) + 1;
      const commits = end > 0 ? parseLog(inode.cache.view.subarray(0, end), true) : [];
      const made = this.#seen(inode.log.hash, inode.log.threadId);
      made.isUnsynced = true;
      // The log lost bytes in the middle. The product must report this like any damage.
      made.isDamaged = commits === null || inode.hasHole;
      if (commits !== null) {
        made.commits = commits;
        made.first = commits.length;
        made.shown = Buffer.from(inode.cache.view.subarray(0, end));
      }
    }
  }

  #appeared(seen: Seen, commits: Commit[]): void {
    seen.first = commits.length;
    seen.isUnsynced = commits[0]?.isUnsynced ?? false;
    this.#checkBundle(seen.hash);
    for (const other of this.threads.values()) {
      if (other !== seen && other.threadId === seen.threadId)
        this.fail(`${seen.threadId} is a thread of ${other.hash} and of ${seen.hash}`);
    }
  }

  #checkCommits({ threadId, commits }: Seen): void {
    const steps = commits.slice(1);
    const wrong = steps.findIndex(({ n }, at) => n !== null && n !== at);
    if (wrong >= 0) this.fail(`record ${wrong} of ${threadId} is of step ${steps[wrong]?.n}`);
    const end = steps.findIndex(({ isEnd }) => isEnd);
    if (end >= 0 && end < steps.length - 1) this.fail(`${threadId} continues after its end`);
    const { failure } = steps[end] ?? {};
    if (failure) this.fail(`${threadId} has failed: ${failure}`);
    const ids = steps.flatMap(({ requestId }) => requestId ?? []);
    if (new Set(ids).size < ids.length) this.fail(`an answer is in ${threadId} twice`);
  }

  // A worker without its lock may still run briefly, but must not drive a thread.
  #drives({ hash, threadId, drivers }: Seen): void {
    const { current, disk } = this.#world;
    if (!current) return;
    const lock = disk.at(`${this.#root}/run/${hash}.lock`);
    if (lock?.kind !== "file" || lock.lockedBy?.owner !== current)
      this.fail(`${threadId} is driven by ${current.name} without the lock`);
    if (drivers.at(-1) === current) return;
    if (drivers.includes(current))
      this.fail(`${threadId} is driven by ${current.name} and by ${drivers.at(-1)?.name}`);
    drivers.push(current);
  }

  #bundleGone(hash: string): void {
    const isNeeded = [...this.threads.values()].some((seen) => seen.hash === hash && seen.isThere);
    const isVersion = this.versions.some((version) => version.hash === hash);
    if (isNeeded || isVersion) this.fail(`the needed bundle ${hash} was deleted`);
  }

  #checkDue(thread: { hash: string; threadId: string }): void {
    const seen = this.threads.get(keyOf(thread));
    if (!seen?.isThere || seen.isDamaged || seen.isUnsynced || seen.removal !== "none") return;
    const inode = this.#world.disk.at(this.#pathOf(seen));
    const bytes = inode?.kind === "file" ? inode.platter.view : Buffer.alloc(0);
    const durable = parseLog(bytes.subarray(0, bytes.lastIndexOf(10) + 1), true);
    if ((durable?.at(-1)?.dueAt ?? null) === null) return;
    for (const [path] of this.#world.disk.files()) {
      if (dueThreadOf(path)?.threadId === seen.threadId) return;
    }
    this.fail(`${seen.threadId} is no longer due, and a loss of power would show it asleep`);
  }

  #checkBundle(hash: string): void {
    if (this.damagedBundles.has(hash)) return;
    const inode = this.#world.disk.at(`${this.#root}/bundles/${hash}.esm.js`);
    if (inode?.kind !== "file" || inode.cache.length === 0)
      this.fail(`the needed bundle ${hash} is missing`);
  }

  #checkRegistry(): void {
    if (this.isRegistryDamaged) return;
    const inode = this.#world.disk.at(`${this.#root}/workflow.yaml`);
    const there = registered(inode?.kind === "file" ? inode.cache.view.toString("utf8") : "");
    for (const { name, hash } of this.versions) {
      if (!there.has(`${name} ${hash}`))
        this.fail(`the version ${hash} of ${name} is missing in the registry`);
    }
  }

  #isNameSynced(seen: Seen): boolean {
    const folder = this.#world.disk.at(`${this.#root}/logs/${seen.hash}`);
    const name = `${seen.threadId}.data.jsonl`;
    if (folder?.kind !== "folder" || folder.platter.get(name) !== folder.names.get(name))
      return false;
    let path = "";
    for (const part of `${this.#root}/logs/${seen.hash}`.split("/").slice(1)) {
      const above = this.#world.disk.at(path);
      if (above?.kind !== "folder" || !above.platter.has(part)) return false;
      path += `/${part}`;
    }
    return true;
  }

  #find(threadId: string): Seen | null {
    for (const seen of this.threads.values()) if (seen.threadId === threadId) return seen;
    return null;
  }

  #seen(hash: string, threadId: string): Seen {
    const key = keyOf({ threadId, hash });
    const known = this.threads.get(key);
    if (known) {
      known.isThere = true;
      return known;
    }
    const seen: Seen = {
      hash,
      threadId,
      shown: Buffer.alloc(0),
      commits: [],
      first: 0,
      isThere: true,
      isEnded: true,
      removal: "none",
      isAcknowledged: false,
      isDamaged: false,
      isNamed: false,
      isOver: false,
      isUnsynced: false,
      woken: 0,
      drivers: [],
    };
    this.threads.set(key, seen);
    return seen;
  }

  #pathOf({ hash, threadId }: Seen): string {
    return `${this.#root}/logs/${hash}/${threadId}.data.jsonl`;
  }
}

/** Returns the number of steps in the shown records. */
export const stepsOf = ({ commits }: Seen): number =>
  Math.max(0, commits.length - 1 - (commits.at(-1)?.isEnd ? 1 : 0));

export const hasEnded = ({ commits }: Seen): boolean => commits.at(-1)?.isEnd ?? false;

// The newline of the last record may be missing or zero. The bytes before it are complete.
function covers(bytes: Buffer, shown: Buffer): boolean {
  if (shown.length === 0) return true;
  const body = shown.length - 1;
  if (bytes.length < body || Buffer.compare(bytes.subarray(0, body), shown.subarray(0, body)) !== 0)
    return false;
  return (
    bytes.length === body ||
    bytes[body] === 10 ||
    (bytes.length === shown.length && bytes[body] === 0)
  );
}

const keyOf = ({ threadId, hash }: { threadId: string; hash: string }): string =>
  `${threadId} ${hash}`;
