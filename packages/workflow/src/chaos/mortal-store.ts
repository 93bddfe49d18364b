import { diskError } from "../disk/disk-error.ts";
import type { Appended, Claim, ThreadState, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { FaultPlan } from "./faults.ts";

/** The process that uses a store. After its death, its calls have no effect and never return. */
export type Mortal = {
  readonly isDead: boolean;
  /** The number of writes that are not acknowledged yet. */
  unacknowledged: number;
  die(): void;
  /** Returns a promise that never settles. */
  frozen(): Promise<never>;
};

/** Receives each durable record of a data log with its number; the start record has 0. */
export type OnRecord = (record: string, number: number) => void;

const slowTurns = 25;

/** Returns a store that injects the kills and the disk faults of a plan into a process. */
export function mortalStore(
  store: ThreadStore,
  process: Mortal,
  plan: FaultPlan,
  onRecord: OnRecord,
): ThreadStore {
  const claimed = (claim: Claim | null): Claim | null =>
    claim && mortalClaim(claim, process, plan, onRecord);
  return guarded(store, process, {
    create: async (...given) => {
      const created = await store.create(...given);
      return { ...created, claim: claimed(created.claim) };
    },
    claim: async (...given) => claimed(await store.claim(...given)),
  });
}

function mortalClaim(claim: Claim, process: Mortal, plan: FaultPlan, onRecord: OnRecord): Claim {
  let records = claim.thread.records;
  const lost = new AbortController();
  /** Releases the claim and throws a disk error. */
  async function fail(code: string): Promise<never> {
    await claim.release();
    lost.abort();
    throw diskError(Object.assign(new Error(code), { code }), "write to", "the log");
  }
  async function write(turns: number, record: string, state: ThreadState): Promise<Appended> {
    for (let turn = 0; turn < turns; turn += 1) await system.clock.turn();
    return await claim.append(record, state);
  }
  async function append(record: string, state: ThreadState): Promise<Appended> {
    const number = records;
    const fault = plan.atCommit(number);
    if (fault === "killBefore") {
      process.die();
      return await process.frozen();
    }
    if (fault === "diskFull") return await fail("ENOSPC");
    process.unacknowledged += 1;
    const appended = await write(fault === "slowDisk" ? slowTurns : 0, record, state).finally(
      () => {
        process.unacknowledged -= 1;
      },
    );
    if (process.isDead) return await process.frozen();
    records += 1;
    onRecord(record, number);
    if (fault === "syncFails") return await fail("EIO");
    if (fault !== "killAfter") return appended;
    process.die();
    return await process.frozen();
  }
  // Replace the signal of the claim: it would run the `finally` blocks of a dead process.
  return guarded(claim, process, { append, lost: lost.signal });
}

/** Returns an object with some properties replaced by `own`. Its methods stop working when the process dies. */
function guarded<T extends object>(object: T, process: Mortal, own: Partial<T>): T {
  return new Proxy(object, {
    get(target, key) {
      const value: unknown = Reflect.get(key in own ? own : target, key);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        if (!process.isDead) return Reflect.apply(value, key in own ? own : target, given);
        return isSync.has(key) ? null : process.frozen();
      };
    },
  });
}

/** Methods that do not return a promise. */
const isSync: ReadonlySet<string | symbol> = new Set(["event", "keepValue", "where", "watch"]);
