import { Random } from "../../packages/workflow/src/chaos/random.ts";

/** Kinds of faults. Tests, and the reduction of a schedule, can leave out any kind. */
export type FaultKind =
  | "workerDies"
  | "clientDies"
  | "power"
  | "sleep"
  | "stop"
  | "syncFails"
  | "folderSyncFails"
  | "writeFails"
  | "writeShort"
  | "writeTorn"
  | "diskFull"
  | "removeFails"
  | "renameFails"
  | "openFails"
  | "readFails"
  | "truncateFails"
  | "listFails"
  | "makeFolderFails"
  | "flip"
  | "clock"
  | "requestLost"
  | "responseLost"
  | "messageLate";

/** A fault at the nth call of its class. `detail` determines its other properties. */
export type Fault = { id: number; kind: FaultKind; nth: number; detail: number };

/** Class of calls at which each kind may occur, and the usual range of its number. */
const classes: Record<FaultKind, [at: string, among: number]> = {
  workerDies: ["worker", 500],
  clientDies: ["client", 300],
  power: ["any", 900],
  sleep: ["worker", 500],
  stop: ["worker", 100],
  syncFails: ["sync", 50],
  folderSyncFails: ["syncFolder", 30],
  writeFails: ["write", 100],
  writeShort: ["write", 100],
  writeTorn: ["write", 100],
  diskFull: ["write", 100],
  removeFails: ["remove", 16],
  renameFails: ["rename", 20],
  openFails: ["open", 200],
  readFails: ["read", 200],
  truncateFails: ["truncate", 4],
  listFails: ["list", 30],
  makeFolderFails: ["makeFolder", 30],
  flip: ["any", 900],
  clock: ["any", 900],
  requestLost: ["message", 40],
  responseLost: ["message", 40],
  messageLate: ["message", 40],
};

/** Weight of each kind when faults are drawn. */
const weights: [kind: FaultKind, weight: number][] = [
  ["workerDies", 8],
  ["clientDies", 4],
  ["power", 5],
  ["sleep", 3],
  ["stop", 2],
  ["syncFails", 5],
  ["folderSyncFails", 2],
  ["writeFails", 2],
  ["writeShort", 2],
  ["writeTorn", 2],
  ["diskFull", 2],
  ["removeFails", 3],
  ["renameFails", 2],
  ["openFails", 1],
  ["readFails", 1],
  ["truncateFails", 1],
  ["listFails", 1],
  ["makeFolderFails", 1],
  ["flip", 2],
  ["clock", 2],
  ["requestLost", 1],
  ["responseLost", 2],
  ["messageLate", 2],
];
const kinds = weights.flatMap(([kind, weight]) => Array<FaultKind>(weight).fill(kind));
const mostFaults = 6;

/** Returns the faults of a seed. At most one bit is flipped, because two flips could look like a lost write. */
export function faultsOf(seed: number): Fault[] {
  const random = new Random(seed, "faults");
  const count = random.below(mostFaults + 1);
  return Array.from({ length: count }, (_, id) => {
    const kind = random.pick(kinds);
    const [, among] = classes[kind];
    // Prefer early calls, because only some schedules have late calls.
    const nth = 1 + Math.floor(among * random.number() * random.number() * 1.5);
    return { id, kind, nth, detail: random.below(1_000_000_000) };
  }).filter(
    ({ kind, id }, _, all) => kind !== "flip" || all.find((one) => one.kind === kind)?.id === id,
  );
}

/** Future faults, and faults that occurred. */
export class FaultPlan {
  readonly faults: readonly Fault[];
  /** Faults that occurred, in order. */
  readonly came: Fault[] = [];
  isOver = false;
  readonly #counts = new Map<string, number>();
  readonly #armed = new Map<string, Fault[]>();

  constructor(faults: readonly Fault[]) {
    this.faults = faults;
    for (const fault of faults) {
      const [at] = classes[fault.kind];
      this.#armed.set(at, [...(this.#armed.get(at) ?? []), fault]);
    }
  }

  /** Counts a call of a class and returns the faults that occur at the call. */
  at(name: string): readonly Fault[] {
    const armed = this.#armed.get(name);
    if (!armed || this.isOver) return none;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const due = armed.filter(({ nth }) => nth === count);
    if (due.length === 0) return none;
    this.came.push(...due);
    return due;
  }
}

const none: readonly Fault[] = [];
