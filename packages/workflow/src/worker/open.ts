import type { LoadedBundle } from "../bundle/store.ts";
import { maskLater, maskOf } from "../contract/mask.ts";
import type { Started, Surroundings } from "../control/control.ts";
import type { Claim, ClaimOptions, ThreadInfo } from "../store/store.ts";
import { system } from "../system/system.ts";
import { engineFor } from "./drive.ts";
import { InfoLog } from "./info.ts";
import { JournalReader } from "./journal-reader.ts";
import type { Live } from "./live.ts";
import type { ThreadsParts } from "./parts.ts";
import { drivenElsewhere, ofOtherVersion } from "./errors.ts";
import { killed } from "../engine/ending.ts";
import { endedError, movedError, notFound } from "../record/errors.ts";
import { textOf } from "../record/record.ts";

/** Surroundings of a claimed thread. `goesOn`: the thread was just resumed from a pause. */
export type Driven = Surroundings & { goesOn?: true };

/** The owner and lease of this process's claims. On a store without leases, a claim lasts as long as the process. */
export const ownClaims = (): Pick<ClaimOptions, "owner" | "leaseMs"> => ({
  owner: `process ${system.processes.pid}`,
  leaseMs: 30_000,
});

/** The response to a start of an existing thread. @throws WorkflowError `THREAD_MOVED`, `THREAD_EXISTS` */
export function startedBefore(own: string, { hash, threadId, movedTo }: ThreadInfo): Started {
  if (movedTo !== null) throw movedError(threadId, movedTo);
  if (hash === own) return { threadId, started: false };
  throw ofOtherVersion(threadId);
}

type Claiming = Pick<ClaimOptions, "durability" | "takeOver">;

/** The options of a worker's claims. */
export function claimOptions(
  { claims = ownClaims() }: Pick<ThreadsParts, "claims">,
  { durability, takeOver }: Claiming,
): ClaimOptions {
  return { ...claims, ...(durability && { durability }), ...(takeOver && { takeOver }) };
}

/** Claims a thread that has not ended. @throws WorkflowError `THREAD_ENDED`; the errors of `ThreadStore.claim` */
export async function claimOpen(
  { store, hash, claims }: Pick<ThreadsParts, "store" | "hash" | "claims">,
  threadId: string,
  options: Claiming,
): Promise<Claim> {
  const claim = await store.claim({ hash, threadId }, claimOptions({ claims }, options));
  if (!claim) throw drivenElsewhere(threadId);
  if (!claim.end) return claim;
  await claim.release();
  const { returnCode, reason } = claim.end.meta;
  throw endedError(threadId, reason === "returned" ? `returned ${returnCode}` : reason);
}

/** Ends a claimed thread as killed, and releases the claim. */
export async function endClaimed(claim: Claim): Promise<void> {
  try {
    await claim.append(textOf(killed(system.clock.now())), { kind: "ended" });
  } finally {
    await claim.release();
  }
}

/** Makes a thread's log end with a whole record. @throws WorkflowError `THREAD_NOT_FOUND` */
export async function settleLog(
  { store, hash, claims }: Pick<ThreadsParts, "store" | "hash" | "claims">,
  threadId: string,
): Promise<void> {
  const there = await store.find(threadId);
  if (there?.hash !== hash) throw notFound(threadId);
  if (there.movedTo !== null) return;
  await (await store.claim({ hash, threadId }, claimOptions({ claims }, {})))?.release();
}

/** Reads the journal of a claimed thread and creates its engine. @throws WorkflowError `LOG_CORRUPT` */
export async function openLive(
  { store, place, env: shared, options, onChange, watcher }: ThreadsParts,
  bundle: LoadedBundle,
  claim: Claim,
  { env: own, secrets }: Driven,
): Promise<Live> {
  const reader = await JournalReader.open(store, claim);
  const env = shared.with(own);
  const mask = maskLater(() => maskOf(env, secrets));
  const info = new InfoLog(claim, mask);
  const { engine, fail, role } = engineFor({
    ...{ store, claim, bundle, place, env, info, mask },
    ...(options && { options }),
    journal: { reader, old: () => place.oldEntries(claim.start) },
    onWait() {
      watcher?.rests(live);
      onChange();
    },
  });
  const { ref, start } = claim;
  const since = system.clock.elapsed();
  const gone = engine.done.then(() => undefined);
  const live = { ref, engine, info, workflow: start.name, role, since, fail, gone };
  return live;
}
