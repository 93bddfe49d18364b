import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import {
  type ForkRequest,
  isRounds,
  mostRounds,
  type Started,
  type StartRequest,
} from "../control/control.ts";
import type { Environment, StartedThread, StartOptions } from "../host/host.ts";
import { checkThreadId } from "../storage/names.ts";
import type { Root } from "../storage/paths.ts";
import { candidateOf, type Prewarmed } from "./prewarm.ts";
import { askWorker } from "./spawn.ts";
import { resolveWorkflow } from "./resolve.ts";

/**
 * Starts a thread of a registered workflow and returns when its start record is on the disk.
 *
 * @throws WorkflowError `NO_SUCH_WORKFLOW`, `BAD_MAX_ROUNDS`, `BAD_OPTION`, and whatever keeps the
 * bundle from being loaded; then nothing is written.
 */
export async function startThread(
  root: Root,
  options: StartOptions,
  prewarmed?: Prewarmed | null,
): Promise<StartedThread> {
  const { prompt = "", maxRounds, params, input } = options;
  if (maxRounds !== undefined) checkRounds(maxRounds);
  checkOptions(options.options ?? {});
  const { name, hash } = await resolveWorkflow(root, options.workflow);
  const request = {
    workflow: name,
    prompt,
    ...(maxRounds === undefined ? {} : { maxRounds }),
    ...(params === undefined ? {} : { params }),
    ...(input ? { input } : {}),
    options: { ...options.options, cwd: options.cwd },
    env: definedEnv(options.env),
    ...(options.durability ? { durability: options.durability } : {}),
  };
  return await sendStart(root, hash, options.threadId, request, prewarmed);
}

/** Hands a new thread to the worker of its hash. */
export async function sendStart(
  root: Root,
  hash: string,
  threadId: string | undefined,
  request: Omit<StartRequest, "threadId"> & { fork?: ForkRequest },
  prewarmed?: Prewarmed | null,
): Promise<StartedThread> {
  if (threadId !== undefined) {
    const { createdThread } = await import("./threads.ts");
    const there = createdThread(root, checkThreadId(threadId));
    if (there) return there;
  }
  const candidate = candidateOf(root, hash, prewarmed);
  const id = threadId ?? (await import("ulid")).ulid();
  const body: StartRequest = { threadId: id, ...request };
  const start = { method: "POST", path: "/threads", body } as const;
  await askWorker<Started>(root, hash, start, candidate).catch(async (error: unknown) => {
    // A worker that is just ending may have taken the connection. By its id a thread starts once.
    if (!isWorkflowError(error) || error.code !== "WORKER_LOST") throw error;
    await askWorker<Started>(root, hash, start);
  });
  return { threadId: id, workflow: request.workflow, hash };
}

/** @throws WorkflowError `BAD_MAX_ROUNDS` unless it is a whole number from 1 to {@link mostRounds}. */
export function checkRounds(maxRounds: number): void {
  if (isRounds(maxRounds)) return;
  throw new WorkflowError({
    code: "BAD_MAX_ROUNDS",
    kind: "usage",
    message: `maxRounds can't be ${String(maxRounds)}`,
    hint: `give a whole number from 1 to ${mostRounds}`,
  });
}

const keptForEngine = new Set(["threadId", "maxRounds", "signal", "cwd", "env", "forkFrom"]);

/** @throws WorkflowError `BAD_OPTION` when an option has a name that is the engine's own. */
export function checkOptions(options: Record<string, unknown>): void {
  const taken = Object.keys(options).find((key) => keptForEngine.has(key));
  if (taken === undefined) return;
  throw new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: `the option ${show(taken)} is the engine's own`,
    hint: "give it another name",
  });
}

/** An environment without what is not set. */
export function definedEnv(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
