import { Random } from "./random.ts";

/** Faults at the commit of a record. */
const commitKinds = ["killBefore", "killAfter", "diskFull", "syncFails", "slowDisk"] as const;
/** Faults of one execution of a role. */
const roleKinds = ["providerError", "cutStream", "lateAnswer"] as const;
/** Faults of the answer to a question. */
const answerKinds = ["answerTwice", "answerLate"] as const;

type CommitKind = (typeof commitKinds)[number];
type RoleKind = (typeof roleKinds)[number];
type AnswerKind = (typeof answerKinds)[number];

/**
 * A fault of a run. Records are numbered as in the log: 1 is the first step, and the record after the last step is the
 * end. `slot` identifies an execution of a role in the undisturbed run.
 */
export type Fault =
  | { kind: CommitKind; record: number }
  | { kind: RoleKind; slot: string; role: string }
  | { kind: AnswerKind; record: number }
  | { kind: "startTwice" };

/** The places in an undisturbed run at which faults are injected. */
export type Boundaries = {
  /** The number of records after the start record, with the end record. */
  records: number;
  /** The roles that ran, by slot. */
  slots: readonly { slot: string; role: string }[];
  /** The records that are questions with an answer. */
  questions: readonly number[];
};

/** Returns each fault at each boundary, sorted by kind (kills first), then by the order in the run. */
export function singleFaults({ records, slots, questions }: Boundaries): Fault[] {
  const numbers = Array.from({ length: records }, (_, index) => index + 1);
  return [
    ...commitKinds.flatMap((kind) => numbers.map((record): Fault => ({ kind, record }))),
    ...roleKinds.flatMap((kind) => slots.map((slot): Fault => ({ kind, ...slot }))),
    ...answerKinds.flatMap((kind) => questions.map((record): Fault => ({ kind, record }))),
    { kind: "startTwice" },
  ];
}

const mostFaults = 4;

/**
 * Returns the faults of a run; runs are counted from 1. The first runs have one fault each, kills first, until each
 * fault has had a run. Later runs have two to four faults, derived from the seed.
 */
export function faultsOf(boundaries: Boundaries, seed: number, run: number): Fault[] {
  const single = singleFaults(boundaries);
  const first = single[run - 1];
  if (first) return [first];
  const random = new Random(seed, `run ${run}`);
  const count = 2 + random.below(mostFaults - 1);
  const chosen = Array.from({ length: count }, () => random.pick(single));
  return chosen.filter((fault, index) => chosen.indexOf(fault) === index);
}

/** Describes a fault for people. `end` is the number of the end record. */
export function faultText(fault: Fault, end: number): string {
  if (fault.kind === "startTwice") return "the start requested twice";
  if ("slot" in fault) return `${roleTexts[fault.kind]} ${fault.role}`;
  const what = fault.record === end ? "the end" : `step ${fault.record}`;
  return recordTexts[fault.kind](what);
}

const roleTexts: Record<RoleKind, string> = {
  providerError: "a provider error in",
  cutStream: "a cut stream in",
  lateAnswer: "a late answer of",
};

const recordTexts: Record<CommitKind | AnswerKind, (what: string) => string> = {
  killBefore: (what) => `a kill before the commit of ${what}`,
  killAfter: (what) => `a kill after the commit of ${what}`,
  diskFull: (what) => `a full disk at ${what}`,
  syncFails: (what) => `a failed sync of ${what}`,
  slowDisk: (what) => `a slow disk at ${what}`,
  answerTwice: (what) => `the answer to ${what} twice`,
  answerLate: (what) => `the answer to ${what} after a kill`,
};

/** The pending and past faults of one run. */
export class FaultPlan {
  readonly came: Fault[] = [];
  readonly #open: Fault[];

  constructor(faults: readonly Fault[]) {
    this.#open = [...faults];
  }

  /** Returns the fault at the commit of a record, and counts it as occurred; null without a fault. */
  atCommit(record: number): CommitKind | null {
    const is = (fault: Fault) => "record" in fault && fault.record === record;
    const fault = this.#take((one) => is(one) && commitKinds.includes(one.kind as CommitKind));
    return (fault?.kind as CommitKind | undefined) ?? null;
  }

  /** Returns the fault of the answer to a question, and counts it as occurred; null without a fault. */
  atAnswer(record: number): AnswerKind | null {
    const is = (fault: Fault) => "record" in fault && fault.record === record;
    const fault = this.#take((one) => is(one) && answerKinds.includes(one.kind as AnswerKind));
    return (fault?.kind as AnswerKind | undefined) ?? null;
  }

  /** Returns whether the start is requested twice, and counts this fault as occurred. */
  atStart(): boolean {
    return this.#take(({ kind }) => kind === "startTwice") !== null;
  }

  /** Returns the fault of an execution of a role. It recurs until {@link over}. */
  atRole(slot: string): (Fault & { kind: RoleKind }) | null {
    const fault = this.#open.find((one) => "slot" in one && one.slot === slot);
    if (!fault) return null;
    if (!this.came.includes(fault)) this.came.push(fault);
    return fault as Fault & { kind: RoleKind };
  }

  /** Ends a fault of a role after its effect is recorded. */
  over(fault: Fault): void {
    const index = this.#open.indexOf(fault);
    if (index >= 0) this.#open.splice(index, 1);
  }

  #take(is: (fault: Fault) => boolean): Fault | null {
    const index = this.#open.findIndex(is);
    if (index < 0) return null;
    const [fault] = this.#open.splice(index, 1);
    if (fault) this.came.push(fault);
    return fault ?? null;
  }
}

/** Returns whether the workflow itself sees a fault, as an error of a role. */
export const isSeen = ({ kind }: Fault): boolean =>
  kind === "providerError" || kind === "cutStream";
