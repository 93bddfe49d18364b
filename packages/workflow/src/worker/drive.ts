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
import type { Spender, ThreadSpending } from "./spending.ts";

const closingMs = 5_000;
/** The tag of the line that says how the driving of a thread ended. */
const outcomeTag = "4SHB0GXR";

/** What the threads of a bundle have of the machine that drives them. */
export type ThreadPlace = {
  /** Values that the threads of all bundles share. */
  shared: SharedValues;
  /** The folder of a thread's git worktrees. */
  worktrees: (threadId: string) => string;
  /** Maps positions in the bundle to the author's sources. */
  stacks: StackMapper;
  /** What a thread spends under the limits of its storage root; absent where threads have none, as on a cluster. */
  spending?: (thread: Spender) => ThreadSpending;
};

/** What the threads of a bundle have of a storage root. */
export const rootPlace = (root: Root, hash: string): ThreadPlace => ({
  shared: sharedIn(root),
  worktrees: (threadId) => worktreesDir(root, threadId),
  stacks: StackMapper.of(root, hash),
});

/**
 * The journal of a claimed thread that a storage root has, and what an earlier version has kept of it elsewhere. `find` has the
 * root have a thread that it is a fork of.
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
 * Loads a bundle of a storage root, to drive its threads: it is hashed, imported, and its schemas are compiled if its steps must
 * pass them.
 * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`
 */
export const loadDriven = (root: Root, hash: string): Promise<LoadedBundle> =>
  withStrictSchemas(loadBundle(root, hash));

/** A claimed thread, the code that it runs, and where its debug log goes. */
export type Driving = {
  /** The store that the claim is of. */
  store: Pick<ThreadStore, "readBlob" | "listBlobs">;
  claim: Claim;
  bundle: Bundle;
  place: ThreadPlace;
  env: WorkflowOptions["env"];
  /** Options that come before those of the thread's start record. */
  options?: Partial<WorkflowOptions>;
  info: InfoLog;
  /** What the thread's journal had when it was claimed, and what an earlier version has kept elsewhere. */
  journal: Pick<JournalParts, "reader" | "old">;
  mask: Mask;
  /** Called when the thread begins to wait for an answer, and when a pause has stopped it. */
  onWait: () => void;
};

/**
 * The engine of a claimed thread, in an async context of its own, and a function that fails the thread for something thrown
 * outside its generator. How the driving ends is noted in the debug log. The engine lets go when the claim is lost; the claim is released by the caller.
 */
export function engineFor({ store, claim, bundle, place, env, ...driving }: Driving): {
  engine: ThreadEngine;
  fail: (thrown: unknown) => void;
} {
  const { info, journal, mask, onWait } = driving;
  const { start } = claim;
  const { threadId, forkFrom } = start;
  const { prompt, params, options } = start.parameters;
  const fail = (thrown: unknown) => void engine.fail(thrown).catch(() => undefined);
  const open = new Set<string>();
  const outside = { attempt: null, outermost: null };
  const spending = place.spending?.({ threadId, cwd: options.cwd, env: env ?? {} });
  const paid: ThreadContext["paid"] = (event) => {
    recorded.event(event);
    spending?.event(event);
  };
  const context: ThreadContext = {
    ...{ threadId, info, paid, open, fail },
    ...outside,
    surroundings: { env: env ?? {}, cwd: options.cwd },
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
          // Events come before the step that they led to.
          if (state.kind === "ended") {
            const end = JSON.parse(record) as EndRecord;
            info.log(outcomeTag, describeOutcome({ kind: "ended", end }));
            info.flush();
          } else info.flushEvents();
          // A record names what was recorded before it.
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
  return { engine, fail };
}

/** A journal that is settled when what it has of calls is also counted. */
const countedIn = (journal: Journal, spending: ThreadSpending): Journal => ({
  ...journal,
  settled: async () => void (await Promise.all([journal.settled?.(), spending.settled()])),
});

/** The blobs of a claimed thread, as its roles have them. */
function blobsOf(store: Driving["store"], claim: Claim): Blobs {
  return {
    put: (bytes) => claim.putBlob(bytes),
    get: async (id) => (isBlobId(id) ? await store.readBlob(claim.ref, id) : null),
    ids: () => store.listBlobs(claim.ref),
  };
}
