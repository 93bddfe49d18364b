import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashOf } from "../bundle/hash.ts";
import type { PreparedBundle } from "../bundle/prepare.ts";
import { inHeldFolder } from "../bundle/held-folder.ts";
import { SourceMap } from "../bundle/source-map.ts";
import { StackMapper } from "../bundle/stack.ts";
import { type Descriptor, END, INPUT, WAIT } from "../contract/contract.ts";
import type { ErrorPosition } from "../contract/event.ts";
import type { Host } from "../host/host.ts";
import type { Status, ThreadRow } from "../record/thread.ts";
import type { Difference, FoundDifference, Recording, ReplayStatus, Verdict } from "./recording.ts";
import { type ReplayLimits, replayAll } from "./replays.ts";
import { recordingOf, storedBundle } from "./stored.ts";

/** A replayed thread. `line` is the line of the version's source that differs, where known. */
export type CheckedThread = {
  threadId: string;
  status: ReplayStatus;
  at: Difference | null;
  line: ErrorPosition | null;
};

/**
 * Result of replaying a workflow's threads on a version, newest thread first. `isReplayed` is false for a version that
 * runs its roles itself: only the names of its roles were compared. `leftOut` counts the threads that are corrupt, have
 * moved or were removed meanwhile.
 */
export type VersionCheck = {
  hash: string;
  isReplayed: boolean;
  threads: CheckedThread[];
  leftOut: number;
};

/** The output of `check --json`. */
export type VersionCheckJson = Record<"checked" | ReplayStatus, number> & {
  hash: string;
  threads: Pick<CheckedThread, "threadId" | "status" | "at">[];
};

/** Options of a check. `threads` limits it to the newest threads. */
export type CheckOptions = ReplayLimits & { threads?: number };

/** Number of newest threads that are checked by default, besides the threads that have not ended. */
export const mostRecent = 100;

const goingOn: readonly Status[] = ["running", "paused", "waiting", "interrupted"];
const batchSize = 50;
const mostGoingOn = 10_000;

/**
 * Replays the threads of a workflow on another version: a bundle that is not stored, or a stored version. No role runs,
 * and the host's storage does not change.
 *
 * @throws WorkflowError the errors of `replayAll` and `storedBundle`; the signal's abort reason.
 */
export async function checkVersion(
  host: Host,
  name: string,
  version: PreparedBundle | string,
  options: CheckOptions = {},
): Promise<VersionCheck> {
  const bundle = typeof version === "string" ? await storedBundle(host, version) : version;
  const hash = hashOf(bundle.bytes);
  const rows = await threadsOf(host, name, options.threads);
  return await inHeldFolder("uncaged-check-", async (folder) => {
    const paths = { bundle: join(folder, `${hash}.esm.js`), map: join(folder, `${hash}.map`) };
    await writeFile(paths.bundle, bundle.bytes);
    if (bundle.map !== undefined) await writeFile(paths.map, bundle.map);
    const lines = new Lines(paths, bundle.map);
    const threads: CheckedThread[] = [];
    let isReplayed = true;
    for (let from = 0; from < rows.length; from += batchSize) {
      options.signal?.throwIfAborted();
      const batch = await recordingsOf(host, rows.slice(from, from + batchSize));
      const verdicts: Verdict[] | null = isReplayed
        ? await replayAll(paths.bundle, batch, options)
        : null;
      isReplayed = verdicts !== null;
      for (const [index, one] of batch.entries()) {
        const { status, at } = verdicts?.[index] ?? (await byRoles(host, one, bundle.descriptor));
        const { threadId } = one.start;
        threads.push({ threadId, status, ...lines.of(at) });
      }
    }
    return { hash, isReplayed, threads, leftOut: rows.length - threads.length };
  });
}

/** Returns a check in its public JSON form. */
export function checkJson({ hash, threads }: VersionCheck): VersionCheckJson {
  const count = (status: ReplayStatus) => threads.filter((one) => one.status === status).length;
  return {
    hash,
    checked: threads.length,
    continues: count("continues"),
    diverges: count("diverges"),
    waits: count("waits"),
    ended: count("ended"),
    threads: threads.map(({ threadId, status, at }) => ({ threadId, status, at })),
  };
}

async function threadsOf(host: Host, workflow: string, most?: number): Promise<ThreadRow[]> {
  const query = { workflow, paged: false };
  const { rows: recent } = await host.threads({ ...query, limit: most ?? mostRecent });
  const live =
    most === undefined
      ? (await host.threads({ ...query, status: goingOn, limit: mostGoingOn })).rows
      : [];
  const all = new Map([...recent, ...live].map((row) => [row.threadId, row]));
  return [...all.values()].sort((a, b) => (a.threadId > b.threadId ? -1 : 1));
}

async function recordingsOf(host: Host, rows: readonly ThreadRow[]): Promise<Recording[]> {
  const found: Recording[] = [];
  for (const row of rows) {
    if (row.status === "moved" || row.status === "corrupt") continue;
    const one = await recordingOf(host, row);
    if (one) found.push(one);
  }
  return found;
}

/**
 * Compares a thread's roles with a version's roles, without running the version. A role differs when the thread's own
 * version declares it and the other version does not.
 */
async function byRoles(host: Host, one: Recording, { roles }: Descriptor): Promise<Verdict> {
  const own = (await host.descriptor(one.start.hash))?.roles ?? {};
  const from = one.start.forkFrom?.steps ?? 0;
  const isGone = (role: string) => Object.hasOwn(own, role) && !Object.hasOwn(roles, role);
  const index = one.steps.findIndex(({ role }, at) => at >= from && isGone(role));
  const step = one.steps[index];
  if (step) {
    return { status: "diverges", at: { step: index + 1, recorded: step.role, expected: null } };
  }
  if (one.end !== null) return { status: "ended", at: null };
  return { status: one.steps.at(-1)?.role === WAIT ? "waits" : "continues", at: null };
}

/** Finds the lines of differences in the sources of a bundle. */
class Lines {
  readonly #stacks: StackMapper;
  readonly #map: SourceMap | null;

  constructor(paths: { bundle: string; map: string }, map: string | undefined) {
    this.#stacks = new StackMapper(paths);
    this.#map = map === undefined ? null : new SourceMap(map);
  }

  of(found: FoundDifference | null): Pick<CheckedThread, "at" | "line"> {
    if (found === null) return { at: null, line: null };
    const { stack, role = null, ...at } = found;
    const thrown = { name: "Error", message: "", ...(stack !== undefined && { stack }) };
    const { at: line } = this.#stacks.rewrite(thrown, role);
    const isRole = role !== null && ![END, WAIT, INPUT].includes(role as never);
    return { at, line: line ?? (isRole ? (this.#map?.mentionOf(role) ?? null) : null) };
  }
}
