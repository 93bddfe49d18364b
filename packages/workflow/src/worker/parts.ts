import type { LoadedBundle } from "../bundle/store.ts";
import type { Step, WorkflowOptions } from "../contract/contract.ts";
import type { Controlled, LeaveRequest, Location } from "../control/control.ts";
import type { StartedIn, StartRecord } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Outcome } from "../engine/ending.ts";
import type { Claim, ClaimOptions, ThreadStore } from "../store/store.ts";
import type { SharedEnv } from "./context.ts";
import type { ThreadPlace } from "./drive.ts";
import type { OldEntries } from "./journal.ts";
import type { Live } from "./live.ts";

/** The processes left by lost workers. Threads are driven only after these processes have ended. */
export type LostProcesses = {
  ended: Promise<void>;
  report: Pick<Controlled, "orphans">;
  /** Ends the lost processes of the bundle of a fork's source. */
  besideFork: (source?: string) => Promise<Pick<Controlled, "orphans">>;
};

/** Follows the threads that a process drives. */
export type DriveWatcher = {
  /** Called before the engine starts. */
  began: (live: Live, claim: Claim) => void;
  /** Called when a thread starts to wait, and when a pause has stopped it. */
  rests: (live: Live) => void;
  /** Called when the claim is released. */
  gone: (claim: Claim, outcome: Outcome) => void;
};

/** Dependencies of the threads of one bundle. */
export type ThreadsParts = {
  store: ThreadStore;
  hash: string;
  place: ThreadPlace & {
    /** Records the commits named by copied steps, before their thread is created. */
    noteCopied: (threadId: string, steps: readonly Step[]) => void;
    /** The entries that an earlier version recorded for a thread. */
    oldEntries: (start: StartRecord) => Promise<readonly OldEntries[]>;
    /** The identity of the place where a new thread is started; undefined if unknown. */
    startedIn: (env: Readonly<Record<string, string>>) => Promise<StartedIn | undefined>;
    /**
     * Checks that the log of an unclaimed thread was not restored from a copy. @throws WorkflowError `NOT_RECOVERED`
     */
    checkUnrestored: (ref: ThreadRef) => void;
    /** Counts an automatic resume of a thread. @throws WorkflowError `NOT_RECOVERED` when it is not allowed */
    recover: (
      claim: Claim,
      env: Readonly<Record<string, string>>,
      descriptor: object,
    ) => Promise<void>;
    /** Records that a thread has moved to another host. */
    leave: (ref: ThreadRef, to: LeaveRequest["to"], isPaused: boolean) => Location;
  };
  orphans: LostProcesses;
  /** The environment of the driven threads, including the mark of this worker's processes. */
  env: SharedEnv;
  load: () => Promise<LoadedBundle>;
  /** Records whether a thread is driven, for a forced kill. */
  note: (threadId: string, live: boolean) => void;
  onChange: () => void;
  /** By default, claims of this process. */
  claims?: Pick<ClaimOptions, "owner" | "leaseMs"> | undefined;
  /** Options that override the start records of the driven threads. */
  options?: Partial<WorkflowOptions>;
  watcher?: DriveWatcher;
};
