/*
 * Moves a thread from one host to another. Owns: the order of the steps. Does not own: the steps, which each host
 * implements.
 *
 * M1 A thread is on one host at a time. It leaves before it arrives. Leaving and arriving are each one atomic, durable
 *    action of a host.
 * M2 Every refusal happens before the thread leaves.
 * M3 The moving process may crash at any moment. Repeating the move continues it: leaving for the same host again does
 *    nothing, a second copy has the same bytes, and arriving with the same number again does nothing.
 * M4 The number of moves orders the copies of a thread. A host refuses a thread that it has already seen with the same
 *    or a higher number.
 */
import type { Workflow } from "../registry/registry.ts";
import { versionsOf } from "../registry/versions.ts";
import type { Location } from "../control/control.ts";
import type { HostIdentity } from "../control/control.ts";
import { type ThreadRef } from "../record/thread.ts";
import { threadExists } from "./errors.ts";
import { movedError, notFound } from "../record/errors.ts";

/** A host's knowledge of a thread: its version and its location, null when it never moved. */
export type Presence = { hash: string; location: Location | null };

/** An arriving thread: its source host, its number of moves, and whether it was paused. */
export type Arrival = { from: HostIdentity; moves: number; paused: boolean };

/** Options of moving a thread to another host. */
export type MoveOptions = {
  /** Called when parts arrive, with the number of bytes copied so far and in total. */
  onProgress?: (done: number, all: number) => void;
};

/** A host that threads can leave and arrive at. Files are passed as the storage root that holds them. */
export interface MovingHost {
  /** The id and the name of this host. */
  identity(): Promise<HostIdentity>;
  /** Runs `act` while no other process of this machine moves the thread. */
  alone<T>(threadId: string, act: () => Promise<T>): Promise<T>;
  /** This host's knowledge of a thread; null when it does not have the thread's files. */
  presence(threadId: string): Promise<Presence | null>;
  /** A storage root with all files of the thread and its bundle. */
  files(ref: ThreadRef): Promise<string>;
  /** A storage root with a bundle. @throws WorkflowError `BUNDLE_MISSING`. */
  bundle(hash: string): Promise<string>;
  /** A name with its versions. @throws WorkflowError `WORKFLOW_NOT_FOUND`. */
  workflow(name: string): Promise<Workflow>;
  /**
   * Sets the versions of a name to the versions of another host, whose bundles are stored here. @throws WorkflowError
   * `VERSION_CONFLICT`.
   */
  takeWorkflow(name: string, workflow: Workflow, force: boolean): Promise<{ unchanged: boolean }>;
  /** Checks that this host can accept a thread. @throws WorkflowError when it can't, for example `RECORD_TOO_LARGE`. */
  check(root: string, ref: ThreadRef): Promise<void>;
  /** Hashes and stores a bundle, unless it is stored already. */
  takeBundle(root: string, hash: string): Promise<void>;
  /** Releases a thread that is not running to another host. @throws WorkflowError `THREAD_RUNNING`, `THREAD_MOVED`. */
  leave(ref: ThreadRef, to: HostIdentity): Promise<Location>;
  /** Receives a thread that has left its host. */
  arrive(root: string, ref: ThreadRef, arrival: Arrival, options: MoveOptions): Promise<void>;
}

/** The result of a move. `moved` is false when the thread had arrived already. */
export type Moved = { threadId: string; hash: string; from: string; to: string; moved: boolean };

/**
 * Moves a thread that is not running to another host, with all of its files. The thread continues there. Finishes
 * interrupted moves.
 *
 * @throws WorkflowError `THREAD_RUNNING`; `THREAD_MOVED` when it is on a third host; `THREAD_EXISTS` when the other
 * host has a thread with its id; the other host's refusal, in which case the thread has not left.
 */
export async function moveThread(
  from: MovingHost,
  to: MovingHost,
  ref: ThreadRef,
  options: MoveOptions = {},
): Promise<Moved> {
  const { threadId, hash } = ref;
  const move = async (): Promise<boolean> => {
    const [source, target] = [await from.identity(), await to.identity()];
    const here = await from.presence(threadId);
    if (!here) throw notFound(threadId);
    const there = await to.presence(threadId);
    if (there && there.hash !== hash)
      throw threadExists(threadId, target.name, "its version differs");
    if (isDone(threadId, here, there, source, target)) return false;
    const before = await from.files(ref);
    await to.check(before, ref);
    await to.takeBundle(before, hash);
    const { moves, paused = false } = await from.leave(ref, target);
    await to.arrive(await from.files(ref), ref, { from: source, moves, paused }, options);
    return true;
  };
  const moved = await from.alone(threadId, () => to.alone(threadId, move));
  return { threadId, hash, ...(await namesOf(from, to)), moved };
}

/** The result of copying a workflow from one host to another. */
export type Copied = {
  name: string;
  hash: string;
  /** The number of versions copied. */
  versions: number;
  unchanged: boolean;
  from: string;
  to: string;
};

/**
 * Copies a name with all of its versions to another host and sets its current version there. The other host's own
 * versions of the name stay in its history.
 *
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`; `VERSION_CONFLICT` when the current version there is not among the copied
 * versions and `force` is not set.
 */
export async function copyWorkflow(
  from: MovingHost,
  to: MovingHost,
  name: string,
  { force = false }: { force?: boolean } = {},
): Promise<Copied> {
  const workflow = await from.workflow(name);
  const versions = versionsOf(workflow);
  const take = async (): Promise<void> => {
    for (const { hash } of versions) await to.takeBundle(await from.bundle(hash), hash);
  };
  await take();
  const { unchanged } = await to.takeWorkflow(name, workflow, force);
  // The other host may have deleted an unnamed bundle before it set the name.
  await take();
  const { hash } = workflow;
  return { name, hash, versions: versions.length, unchanged, ...(await namesOf(from, to)) };
}

/** Copies a bundle. @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`. */
export async function copyBundle(
  from: MovingHost,
  to: MovingHost,
  hash: string,
): Promise<{ hash: string; from: string; to: string }> {
  await to.takeBundle(await from.bundle(hash), hash);
  return { hash, ...(await namesOf(from, to)) };
}

const namesOf = async (from: MovingHost, to: MovingHost) => ({
  from: (await from.identity()).name,
  to: (await to.identity()).name,
});

/** Whether the thread has arrived already. False when it may still leave, or has left and may arrive. */
function isDone(
  threadId: string,
  here: Presence,
  there: Presence | null,
  source: HostIdentity,
  target: HostIdentity,
): boolean {
  const away = here.location?.host ?? null;
  if (away && away.id !== target.id) throw movedError(threadId, away.name);
  const moves = here.location?.moves ?? 0;
  const [last, host] = [there?.location?.moves ?? 0, there?.location?.host ?? null];
  if (away && there && last >= moves) {
    if (host) throw movedError(threadId, host.name);
    return true;
  }
  if (there && !host) throw threadExists(threadId, target.name, "it did not come from this host");
  // This host's copy is stale: the thread has left the other host since.
  if (host && !away && (last > moves || host.id !== source.id)) {
    throw movedError(threadId, host.name);
  }
  return false;
}
