import { withStrictSchemas } from "../bundle/role-schemas.ts";
import { StackMapper } from "../bundle/stack.ts";
import { type LoadedBundle, loadBundle } from "../bundle/store.ts";
import type { Blobs, Bundle, WorkflowOptions } from "../contract/contract.ts";
import type { Journal } from "../contract/journal.ts";
import type { Mask } from "../contract/mask.ts";
import type { SharedValues } from "../contract/shared-values.ts";
import type { RootSpending } from "../contract/spending.ts";
import { describeOutcome } from "../engine/ending.ts";
import { ThreadEngine } from "../engine/engine.ts";
import type { Root } from "../disk/paths.ts";
import { DiskStore } from "../disk/store.ts";
import { sharedIn } from "../disk/shared-values.ts";
import { worktreesDir } from "../disk/worktrees.ts";
import { isBlobId } from "../record/blob-names.ts";
import { type EndRecord, withHead } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Claim, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import { journalOf, partsIn, type ThreadContext } from "./context.ts";
import { compileForAnswer } from "../bundle/schema.ts";
import type { InfoLog } from "./info.ts";
import { JournalReader } from "./journal-reader.ts";
import type { JournalParts } from "./journal.ts";
import { oldJournals } from "./old-journal.ts";
import { recordRefusal } from "./refusal.ts";
import { RunningRole } from "./running-role.ts";
import type { Spender, ThreadSpending } from "./spending.ts";

const closingMs = 5_000;
/** Tag of the debug-log line with a thread's outcome. */
const outcomeTag = "4SHB0GXR";

/** The parts of the driving machine that a bundle's threads use. */
export type ThreadPlace = {
  /** Values shared by the threads of all bundles. */
  shared: SharedValues;
  /** The folder of a thread's git worktrees. */
  worktrees: (threadId: string) => string;
  /** Maps positions in the bundle to the author's sources. */
  stacks: StackMapper;
  /**
   * Tracks a thread's spending under the limits of its storage root. Absent on hosts without such limits, such as a
   * cluster.
   */
  spending?: (thread: Spender) => ThreadSpending;
};

/** The parts of a storage root that a bundle's threads use. */
export const rootPlace = (root: Root, hash: string): ThreadPlace => ({
  shared: sharedIn(root),
  worktrees: (threadId) => worktreesDir(root, threadId),
  stacks: StackMapper.of(root, hash),
});

/**
 * Opens the journal of a claimed thread in a storage root, and the entries that earlier versions stored elsewhere.
 * `find` makes the fork's source thread available in the root.
 * @throws WorkflowError `LOG_CORRUPT`
 */
export async function rootJournal(
  root: Root,
  claim: Pick<Claim, "ref" | "start" | "journalHead">,
  find: (threadId: string) => Promise<ThreadRef | null>,
): Promise<Driving["journal"]> {
  const reader = await JournalReader.open(new DiskStore(root), claim);
  return { reader, old: () => oldJournals(root, claim.start, find) };
}

/**
 * Loads a bundle of a storage root to drive its threads: hashes and imports it, and compiles its schemas if its steps
 * must match them.
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`
 */
export const loadDriven = (root: Root, hash: string): Promise<LoadedBundle> =>
  withStrictSchemas(loadBundle(root, hash));

/** A claimed thread, its code, and the target of its debug log. */
export type Driving = {
  /** The store of the claim. */
  store: Pick<ThreadStore, "readBlob" | "listBlobs">;
  claim: Claim;
  bundle: Bundle;
  place: ThreadPlace;
  env: WorkflowOptions["env"];
  /** Options that override the thread's start record. */
  options?: Partial<WorkflowOptions>;
  info: InfoLog;
  /** The journal entries at the time of the claim, and entries stored elsewhere by an earlier version. */
  journal: Pick<JournalParts, "reader" | "old">;
  mask: Mask;
  /** Called when the thread starts to wait for an answer, and when a pause has stopped it. */
  onWait: () => void;
};

/**
 * Creates the engine of a claimed thread in a new async context, and a function that fails the thread for an error
 * outside its generator. Writes the outcome of driving to the debug log. The engine stops when the claim is lost. The
 * caller releases the claim.
 */
export function engineFor({ store, claim, bundle, place, env, ...driving }: Driving): {
  engine: ThreadEngine;
  fail: (thrown: unknown) => void;
  role: () => string | null;
} {
  const { info, journal, mask, onWait } = driving;
  const { start } = claim;
  const { threadId, forkFrom } = start;
  const { prompt, params, options } = start.parameters;
  const fail = (thrown: unknown) => void engine.fail(thrown).catch(() => undefined);
  const running = new RunningRole();
  const outside = { attempt: null, outermost: null };
  const spending = place.spending?.({ threadId, cwd: options.cwd, env: env ?? {} });
  const paid: ThreadContext["paid"] = (event) => {
    recorded.event(event);
    spending?.event(event);
  };
  const context: ThreadContext = {
    ...{ threadId, info, paid, running, fail },
    ...outside,
    surroundings: { env: env ?? {}, cwd: driving.options?.cwd ?? options.cwd },
    engine: () => engine,
  };
  const recorded = journalOf(context, { claim, ...journal, mask });
  const own = {
    threadId,
    env,
    blobs: blobsOf(store, claim),
    worktrees: place.worktrees(threadId),
    shared: place.shared,
    journal: spending ? countedIn(recorded.journal, spending) : recorded.journal,
    ...(spending && { spending: spending as RootSpending }),
    ...(forkFrom && { forkFrom }),
    ...driving.options,
  };
  const engine = new ThreadEngine(
    {
      ...{ run: bundle.run, prompt, steps: [...claim.steps], params, createdAt: start.timestamp },
      options: { ...options, ...own },
    },
    {
      log: {
        append(record, state) {
          // Events come before their step.
          if (state.kind === "ended") {
            const end = JSON.parse(record) as EndRecord;
            info.log(outcomeTag, describeOutcome({ kind: "ended", end }));
            info.flush();
          } else info.flushEvents();
          // A record names the journal entries before it.
          const head = recorded.head();
          if (!head) return claim.append(record, state);
          return head.then((named) => claim.append(withHead(record, named), state));
        },
      },
      ...partsIn(context, bundle, place.stacks, recorded),
      onRefused: (stepID, reason) => recordRefusal(info, stepID, reason, engine.steps + 1),
      judge: compileForAnswer,
      mask,
      onWait,
      now: () => system.clock.now(),
      closingMs,
    },
  );
  void engine.done.then((outcome) => {
    if (outcome.kind !== "ended") info.log(outcomeTag, describeOutcome(outcome));
  });
  claim.lost.addEventListener("abort", () => void engine.release());
  return { engine, fail, role: () => running.at(engine.steps + 1) };
}

/** Returns a journal that is settled only once the costs of its calls are also counted. */
const countedIn = (journal: Journal, spending: ThreadSpending): Journal => ({
  ...journal,
  settled: async () => void (await Promise.all([journal.settled?.(), spending.settled()])),
});

/** The blobs of a claimed thread, for its roles. */
function blobsOf(store: Driving["store"], claim: Claim): Blobs {
  return {
    put: (bytes) => claim.putBlob(bytes),
    get: async (id) => (isBlobId(id) ? await store.readBlob(claim.ref, id) : null),
    ids: () => store.listBlobs(claim.ref),
  };
}
