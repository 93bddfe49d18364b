import type { Plans } from "@uncaged/workflow-plan/service";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../session/failure.ts";
import { toErrorRecord } from "@uncaged/workflow/host";
import type { Session } from "../session/session.ts";
import { openPlansOf } from "./home.ts";
import { testedSandbox } from "./service.ts";
import { checksOf } from "./tick.ts";

const lookMs = 1_000;

/**
 * Fires the triggers of a storage root's plans in this process while no service fires them. Begins when a confirmed
 * plan has a trigger and the sandbox has passed its test. With `resumes`, also resumes interrupted plan runs. Prints
 * each error once.
 */
export function fireTriggers(
  session: Session,
  { resumes }: { resumes: boolean },
): { stop: () => Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const noted = new Set<string>();
  const onError = (error: unknown): void => {
    const text = errorText(toErrorRecord(error));
    if (!noted.has(text)) session.output.notes.write(text);
    noted.add(text);
  };
  const work = firing(session, { resumes, signal, onError }).catch(onError);
  return {
    async stop() {
      stopped.abort();
      await work;
    },
  };
}

async function firing(
  session: Session,
  {
    resumes,
    signal,
    onError,
  }: { resumes: boolean; signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  const service = await import("@uncaged/workflow-plan/service");
  const claims: { release(): void }[] = [];
  let plans: Plans | null = null;
  try {
    // Claimed before the first confirmation, so that no program reports that the confirmed plan does not fire.
    const onHome = (home: string): void => {
      const claim = claims.length === 0 ? service.claimTriggers(home) : null;
      if (claim) claims.push(claim);
    };
    plans = await plansWithTrigger(session, { signal, onError, onHome });
    if (!plans) return;
    session.note(`sandbox: ${await testedSandbox(session)}`);
    session.note("plans of this storage root fire while this server runs, unless a service does");
    const checks = checksOf(session, service, plans.home);
    const options = {
      ...checks,
      resumes,
      onError: (_id: string, error: unknown) => onError(error),
    };
    claims.pop()?.release();
    const loop = service.openTriggerLoop(plans, options);
    signal.addEventListener("abort", () => void loop.stop(), { once: true });
    await aborted(signal);
    await loop.stop();
  } finally {
    claims.pop()?.release();
    plans?.close();
  }
}

type Wanted = {
  signal: AbortSignal;
  onError: (error: unknown) => void;
  /** Called at each check of an existing plan home. */
  onHome: (home: string) => void;
};

/** Returns the plans of a command as soon as one of them has a trigger that can fire; null if the wait is aborted. */
async function plansWithTrigger(
  session: Session,
  { signal, onError, onHome }: Wanted,
): Promise<Plans | null> {
  let plans: Plans | null = null;
  for (; !signal.aborted; await sleep(lookMs, undefined, { signal }).catch(() => undefined)) {
    try {
      if (plans && !plans.isKept && plans.hasHome()) {
        plans.close();
        plans = null;
      }
      plans ??= await openPlansOf(session, { creates: false });
      if (plans.hasHome()) onHome(plans.home);
      if (plans.hasTriggers()) return plans;
    } catch (error) {
      onError(error);
    }
  }
  plans?.close();
  return null;
}

async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (!signal.aborted) await promise;
}
