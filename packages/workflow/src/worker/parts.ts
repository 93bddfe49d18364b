import type { LoadedBundle } from "../bundle/store.ts";
import type { Step } from "../contract/contract.ts";
import type { Controlled, LeaveRequest, Location } from "../control/control.ts";
import type { StartedIn, StartRecord } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Claim, ThreadStore } from "../store/store.ts";
import type { SharedEnv } from "./context.ts";
import type { ThreadPlace } from "./drive.ts";
import type { OldEntries } from "./journal.ts";

/** The processes that lost workers left running. Nothing is driven before they are ended. */
export type LostProcesses = {
  ended: Promise<void>;
  report: Pick<Controlled, "orphans">;
  /** Ends those of the bundle that a fork's source is of. */
  besideFork: (source?: string) => Promise<Pick<Controlled, "orphans">>;
};

export type ThreadsParts = {
  store: ThreadStore;
  hash: string;
  place: ThreadPlace & {
    /** Notes the commits that copied steps name, before the thread that has them is created. */
    noteCopied: (threadId: string, steps: readonly Step[]) => void;
    /** The entries that an earlier version has recorded for a thread. */
    oldEntries: (start: StartRecord) => Promise<readonly OldEntries[]>;
    /** What a new thread is started in; undefined where that can't be told. */
    startedIn: (env: Readonly<Record<string, string>>) => Promise<StartedIn | undefined>;
    /** @throws WorkflowError `NOT_RECOVERED` when the log of a thread that is not claimed was restored from a copy */
    checkUnrestored: (ref: ThreadRef) => void;
    /** Counts that a thread is resumed unasked. @throws WorkflowError `NOT_RECOVERED` when it must not be */
    recover: (
      claim: Claim,
      env: Readonly<Record<string, string>>,
      descriptor: object,
    ) => Promise<void>;
    /** Notes that a thread has moved to another host. */
    leave: (ref: ThreadRef, to: LeaveRequest["to"], isPaused: boolean) => Location;
  };
  orphans: LostProcesses;
  /** The environment of its threads, which has the mark of the processes that this worker starts. */
  env: SharedEnv;
  load: () => Promise<LoadedBundle>;
  /** Notes for a forced kill which threads are driven. */
  note: (threadId: string, live: boolean) => void;
  onChange: () => void;
};
