import type { Step } from "@uncaged/workflow";
import {
  type EndRecord,
  type Host,
  isWorkflowError,
  type StartRecord,
  type ThreadRef,
  isThreadId,
} from "@uncaged/workflow/host";
import { type PlanDescriptor, planIn } from "../bundle/describe.ts";
import type { PlanDefinition } from "../plan/definition.ts";
import { threadIdOf } from "../plan/terms.ts";
import { Projection, type RunLog, type RunRows } from "./projection.ts";

/** The thread with an id; null when there is none. */
export async function findThread(host: Host, threadId: string): Promise<ThreadRef | null> {
  if (!isThreadId(threadId)) return null;
  return await host.find(threadId).catch(ifMissing);
}

/** Nothing, for an error that something is not there; any other one is thrown. */
export function ifMissing(error: unknown): null {
  if (isWorkflowError(error) && error.kind === "missing") return null;
  throw error;
}

/** What a thread's log has by now; null when it can't even be seen which thread it is. */
export async function readLog(host: Host, ref: ThreadRef): Promise<RunLog | null> {
  let start: StartRecord | null = null;
  let end: EndRecord | null = null;
  let isBroken = false;
  const steps: Step[] = [];
  try {
    for await (const item of host.observe(ref, undefined, { until: "now", events: false })) {
      if (item.kind === "start") start = item.start;
      else if (item.kind === "step") steps.push(item.step);
      else if (item.kind === "end") end = item.end;
      else if (item.kind === "status") isBroken = item.state.status === "corrupt";
    }
  } catch (error) {
    return ifMissing(error);
  }
  return start && { start, steps, end, isBroken };
}

/** A run that is followed: its thread, what its log has shown, and the cursor behind that. */
type Followed = { ref: ThreadRef; projection: Projection | null; cursor: string | undefined };

/**
 * Follows the logs of runs that go on: each look reads what they have grown by since the one before. What was read is a
 * function of the log alone, so nothing of it is lost when it is forgotten, as it is for a run that has ended.
 */
export class RunReader {
  readonly #host: Host;
  readonly #followed = new Map<string, Followed>();

  constructor(host: Host) {
    this.#host = host;
  }

  /** The rows of a run by its log; null while it has none, and `same` when it has not grown since they were given. */
  async next(runId: string, other: () => PlanDefinition | null): Promise<RunRows | "same" | null> {
    const threadId = threadIdOf(runId);
    const known = this.#followed.get(runId);
    const ref = known?.ref ?? (await findThread(this.#host, threadId));
    if (ref === null) return null;
    const followed = known ?? { ref, projection: null, cursor: undefined };
    // Until it is whole: two looks may be under way at once.
    this.#followed.delete(runId);
    const found = await this.#read(followed, other).catch((error: unknown) => {
      if (known && isWorkflowError(error)) return "again" as const;
      return ifMissing(error);
    });
    if (found === "again") return await this.next(runId, other);
    if (found !== null && (found === "same" || found.run.status === "running"))
      this.#followed.set(runId, followed);
    return found;
  }

  /** Has a run's rows given again: they could not be written. */
  forget(runId: string): void {
    this.#followed.delete(runId);
  }

  async #read(
    followed: Followed,
    other: () => PlanDefinition | null,
  ): Promise<RunRows | "same" | null> {
    const { cursor, ref } = followed;
    let end: EndRecord | null = null;
    let isBroken = false;
    const options = { until: "now", events: false } as const;
    for await (const item of this.#host.observe(ref, cursor, options)) {
      if (item.kind === "start") {
        const definition = await definitionIn(this.#host, ref, other);
        if (definition === null) return null;
        followed.projection = new Projection(definition, item.start);
      } else if (item.kind === "step") followed.projection?.take(item.step);
      else if (item.kind === "end") end = item.end;
      else if (item.kind === "status") isBroken = item.state.status === "corrupt";
      else continue;
      followed.cursor = item.cursor;
    }
    if (followed.cursor === cursor && !isBroken) return cursor === undefined ? null : "same";
    return followed.projection?.rows({ end, isBroken }) ?? null;
  }
}

/** The definition that a thread runs: that of its bundle, or `other` where that can't be read. */
export async function definitionIn(
  host: Host,
  { hash }: ThreadRef,
  other: () => PlanDefinition | null,
): Promise<PlanDefinition | null> {
  const descriptor = (await host.descriptor(hash)) as PlanDescriptor | null;
  return (descriptor && planIn(descriptor)) ?? other();
}
