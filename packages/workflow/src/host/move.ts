/*
 * How a thread moves from one host to another. Owns: the order of the acts. Does not own: what each host does in one.
 *
 * M1 A thread is on one host at a time. It leaves before it arrives, and both are one atomic, durable act of their host.
 * M2 Whatever can be refused is refused before it leaves.
 * M3 Whoever moves may be lost at any moment. The same move again goes on where that one was: to leave for the same host
 *    again does nothing, what is copied again has the same bytes, and to arrive with the same number again does nothing.
 * M4 The number of its moves decides what is older. A host takes no thread that it has seen at this number, or a later one.
 */
import { WorkflowError } from "../contract/error.ts";
import type { Workflow } from "../registry/registry.ts";
import { versionsOf } from "../registry/versions.ts";
import type { Location } from "../control/control.ts";
import type { HostIdentity } from "../control/control.ts";
import { notFound } from "../record/selection.ts";
import { movedError, type ThreadRef } from "../record/thread.ts";

/** What a host has of a thread: the version that it runs, and where it is; null: it has never moved. */
export type Presence = { hash: string; location: Location | null };

/** A thread that arrives: from where, the number of its moves, whether it was paused. */
export type Arrival = { from: HostIdentity; moves: number; paused: boolean };

/** Options of moving a thread to another host. */
export type MoveOptions = {
  /** Called as parts arrive: how many bytes of how many. */
  onProgress?: (done: number, all: number) => void;
};

/** A host as threads leave it and arrive on it. Files are given as a storage root that has them. */
export interface MovingHost {
  identity(): Promise<HostIdentity>;
  /** Has nobody else on this machine move the thread meanwhile. */
  alone<T>(threadId: string, act: () => Promise<T>): Promise<T>;
  presence(threadId: string): Promise<Presence | null>;
  /** A storage root with all that there is of the thread, and its bundle. */
  files(ref: ThreadRef): Promise<string>;
  /** A storage root with a bundle. @throws WorkflowError `BUNDLE_MISSING`. */
  bundle(hash: string): Promise<string>;
  /** A name with its versions. @throws WorkflowError `WORKFLOW_NOT_FOUND`. */
  workflow(name: string): Promise<Workflow>;
  /** Gives a name the versions of another host, whose bundles are here. @throws WorkflowError `VERSION_CONFLICT`. */
  takeWorkflow(name: string, workflow: Workflow, force: boolean): Promise<{ unchanged: boolean }>;
  /** @throws WorkflowError what keeps this host from taking the thread, such as `RECORD_TOO_LARGE`. */
  check(root: string, ref: ThreadRef): Promise<void>;
  /** Stores a bundle, which is hashed again. One that is there stays. */
  takeBundle(root: string, hash: string): Promise<void>;
  /** Lets a thread go that does not run. @throws WorkflowError `THREAD_RUNNING`, `THREAD_MOVED`. */
  leave(ref: ThreadRef, to: HostIdentity): Promise<Location>;
  /** Takes a thread that has left its host. */
  arrive(root: string, ref: ThreadRef, arrival: Arrival, options: MoveOptions): Promise<void>;
}

/** `moved` is false when it was there already. */
export type Moved = { threadId: string; hash: string; from: string; to: string; moved: boolean };

/**
 * Moves a thread that does not run to another host, with all that there is of it: from then on it goes on there. Moves
 * that were broken off are finished.
 *
 * @throws WorkflowError `THREAD_RUNNING`; `THREAD_MOVED` when it is on a third host; `THREAD_EXISTS` when the other host has
 * one with its id; and what keeps the other host from taking it: it has not left then.
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
    if (there && there.hash !== hash) throw existsError(threadId, target, "of another version");
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

/** What was copied, from which host to which. */
export type Copied = {
  name: string;
  hash: string;
  /** How many versions the other host has given. */
  versions: number;
  unchanged: boolean;
  from: string;
  to: string;
};

/**
 * Copies a name with all of its versions; its current one is the current one on the other host then. What that has of the
 * name stays in its history.
 *
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`; `VERSION_CONFLICT` when the current version there is none of these, without `force`.
 */
export async function copyWorkflow(
  from: MovingHost,
  to: MovingHost,
  name: string,
  { force = false }: { force?: boolean } = {},
): Promise<Copied> {
  const workflow = await from.workflow(name);
  const versions = versionsOf(workflow);
  for (const { hash } of versions) await to.takeBundle(await from.bundle(hash), hash);
  const { unchanged } = await to.takeWorkflow(name, workflow, force);
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

/** Whether the thread has arrived already; false when it may leave, or has left and may arrive. */
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
  if (there && !host) throw existsError(threadId, target, "that has not come from here");
  // What is here is a copy of an older state: the other host has seen it leave for elsewhere since.
  if (host && !away && (last > moves || host.id !== source.id)) {
    throw movedError(threadId, host.name);
  }
  return false;
}

const existsError = (threadId: string, { name }: HostIdentity, what: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `${name} has a thread ${threadId} ${what}`,
    `nothing was changed; compare them, and fork what you want to keep: uncaged-workflow fork ${threadId}`,
  );
