import type { Environment, Host } from "@uncaged/workflow/host";
import { removeCheckFolders } from "../runs/folders.ts";
import type { Plans } from "../home/plans.ts";
import { isoOf } from "../trigger/state.ts";
import { waited } from "../channel/channel.ts";
import type { OnRunError } from "../runs/runs.ts";
import { claimTriggers, lockTriggers, noteLook, runningService } from "./control.ts";
import { type Fired, nextFire, Triggers, type TriggersOptions } from "./triggers.ts";

/** Options of {@link tick}. */
export type TickOptions = Pick<TriggersOptions, "commandOf" | "limits" | "now"> & {
  host: Host;
  env: Environment;
  /** Whether to resume runs whose worker died (true). */
  resumes?: boolean;
  /** Ends the pass when it is aborted: running checks end, and no trigger fires after that. */
  signal?: AbortSignal;
  /**
   * Receives the errors of runs, triggers and damaged plans. Without `onError`, the pass throws the first error at its
   * end.
   */
  onError?: (workflowId: string, error: unknown) => void;
};

/** The result of a pass: the started runs, and the time of the next trigger (null if none is ever due). */
export type Ticked = { fired: Fired[]; next: string | null };

/**
 * Makes one pass over all due work: resumes runs that a crash interrupted, fires slots, and runs checks to their end.
 * Does nothing while a service or another pass runs. A timer is expected to start the next pass.
 * @throws the first error of a run or a trigger, after all others are done.
 */
export async function tick(plans: Plans, options: TickOptions): Promise<Ticked> {
  noteLook(plans.home);
  return await tickOnce(plans, options);
}

async function tickOnce(plans: Plans, options: TickOptions): Promise<Ticked> {
  const { env, host, now = Date.now } = options;
  const fired: Fired[] = [];
  const lock = await lockTriggers(plans.store);
  await plans.sync();
  if (lock) {
    try {
      const errors: unknown[] = [];
      const onError = options.onError ?? ((_id: string, error: unknown) => void errors.push(error));
      removeCheckFolders(plans.home, env);
      const onRunError: OnRunError = ({ workflowId }, error) => onError(workflowId, error);
      if (options.resumes ?? true) await plans.recover({ onError: onRunError });
      else {
        await plans.refresh(onRunError);
        await plans.startQueued(onRunError);
      }
      await host.wake({ env });
      await pass(plans, { ...options, onError }, fired);
      if (errors.length > 0) throw errors[0];
    } finally {
      await lock.release();
    }
  }
  const next = nextFire(plans, now());
  return { fired, next: next === null ? null : isoOf(next) };
}

/** Checks all triggers once. */
async function pass(
  plans: Plans,
  options: TickOptions & Pick<TriggersOptions, "onError">,
  fired: Fired[],
): Promise<void> {
  const { onError, signal } = options;
  const startQueued = () =>
    plans.startQueued(({ workflowId }, error) => onError(workflowId, error));
  const triggers = new Triggers(plans, { ...options, onFire: (one) => fired.push(one) });
  signal?.addEventListener("abort", () => void triggers.stop(), { once: true });
  if (signal?.aborted) await triggers.stop();
  await triggers.look();
  const slots = fired.length;
  if (slots > 0) await startQueued();
  await triggers.settled();
  if (fired.length > slots) await startQueued();
}

const loopMs = 1_000;

/** Fires triggers in this process by repeated passes while no service runs, and holds the claim to fire them. */
export function openTriggerLoop(
  plans: Plans,
  options: Omit<TickOptions, "signal">,
): { stop: () => Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;
  let claim = claimTriggers(plans.home);
  const loop = async (): Promise<void> => {
    for (; !signal.aborted; await waited(loopMs, signal)) {
      claim ??= claimTriggers(plans.home);
      if (runningService(plans.home)) continue;
      await tickOnce(plans, { ...options, signal }).catch((error: unknown) =>
        options.onError?.("", error),
      );
    }
    claim?.release();
  };
  const work = loop();
  return {
    async stop() {
      stopped.abort();
      await work;
    },
  };
}
