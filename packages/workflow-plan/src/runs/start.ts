import type { Host } from "@uncaged/workflow/host";
import type { Workflow } from "../plan/plan.ts";
import { threadIdOf } from "../plan/terms.ts";
import { keptOf } from "../state/kept.ts";
import type { Confirmations, ConfirmationsOptions } from "../store/confirmations.ts";
import type { RunRow } from "../store/rows.ts";
import type { PlanStore } from "../store/store.ts";
import { definitionIn, findThread, readLog } from "./thread-log.ts";
import { neverConfirmed } from "./errors.ts";

/** Options of {@link Runs}. */
export type RunsOptions = ConfirmationsOptions & {
  host: Host;
  /** The maximum number of concurrent runs (5). A run that waits for a decision does not count. */
  maxRuns?: number;
  now?: () => number;
};

/** Starts the thread of a run. A retry is a fork that keeps the succeeded steps. */
export async function startThread(
  { cwd, env, home, host, runOptions }: RunsOptions,
  confirmations: Confirmations | null,
  { isShared }: PlanStore,
  workflow: Workflow,
  { id: runId, trigger_data }: Pick<RunRow, "id" | "trigger_data">,
): Promise<void> {
  const { bundle, cwd: own, retry } = workflow.metadata ?? {};
  if (!bundle) throw neverConfirmed(workflow.id);
  const options = {
    ...runOptions,
    ...(await confirmations?.checked(workflow)),
    // A worker on another machine has a different home.
    ...(isShared ? { planOfWorker: true } : { planHome: home }),
    ...{ triggerData: trigger_data, workflowId: workflow.id, runId },
  };
  const thread = { env, name: bundle.name, options, threadId: threadIdOf(runId) };
  const source = isRetry(retry) && retry.run === runId ? await sourceOf(host, retry.of) : null;
  if (source) {
    const keep = { steps: keptOf(source.log.steps, source.definition, workflow) };
    await host.fork(source.ref, { ...thread, keep, on: bundle.hash });
  } else {
    const prompt = workflow.description;
    await host.start({ ...thread, workflow: bundle.hash, prompt, cwd: own ?? cwd });
  }
}

/** Returns the thread that a run retries, or null if its log is missing and its steps can't be kept. */
async function sourceOf(host: Host, runId: string) {
  const ref = await findThread(host, threadIdOf(runId));
  const log = ref && (await readLog(host, ref));
  if (!ref || !log) return null;
  return { ref, log, definition: await definitionIn(host, ref, () => null) };
}

const isRetry = (value: unknown): value is { run: string; of: string } =>
  typeof value === "object" && value !== null && "run" in value && "of" in value;
