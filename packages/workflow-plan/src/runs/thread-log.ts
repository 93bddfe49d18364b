import type { Step } from "@uncaged/workflow";
import {
  type EndRecord,
  type Host,
  isWorkflowError,
  type StartRecord,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { isThreadId } from "@uncaged/workflow/internal";
import { type PlanDescriptor, planIn } from "../bundle/describe.ts";
import type { PlanDefinition } from "../plan/definition.ts";
import { threadIdOf } from "../plan/terms.ts";
import type { RunRef } from "../store/last-run.ts";
import { RunFold, type RunLog, type RunRows } from "./fold.ts";

/** Returns the thread with an id, or null if it is missing. */
export async function findThread(host: Host, threadId: string): Promise<ThreadRef | null> {
  if (!isThreadId(threadId)) return null;
  return await host.find(threadId).catch(ifMissing);
}

/** Returns null for an error of the kind `missing`. @throws any other error */
export function ifMissing(error: unknown): null {
  if (isWorkflowError(error) && error.kind === "missing") return null;
  throw error;
}

/** Reads the log of a thread. Returns null without a readable start record. */
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

/** A followed run: its thread, the fold of its log so far, the cursor after the fold, and the rows of the fold. */
type Followed = {
  ref: ThreadRef;
  fold: RunFold | null;
  cursor: string | undefined;
  rows: RunRows | null;
};

/**
 * Reads the rows of runs from their logs. For an open run, reads only the new records. All state is a function of the
 * log, so it may be dropped at any time.
 */
export class RunReader {
  readonly #host: Host;
  readonly #followed = new Map<string, Followed>();

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Returns the rows of a run from its log; null if there is no log of this run. Returns the same object as before if the log has not
   * grown.
   */
  async rows(run: RunRef, other: () => PlanDefinition | null): Promise<RunRows | null> {
    const known = this.#followed.get(run.id);
    const ref = known?.ref ?? (await findThread(this.#host, threadIdOf(run.id)));
    if (ref === null) return null;
    const followed = known ?? { ref, fold: null, cursor: undefined, rows: null };
    // Two reads may overlap: then the second read starts over.
    this.#followed.delete(run.id);
    try {
      await this.#read(followed, run, other);
    } catch (error) {
      if (known && isWorkflowError(error)) return await this.rows(run, other);
      return ifMissing(error);
    }
    const { rows } = followed;
    if (rows?.run.status === "running") this.#followed.set(run.id, followed);
    return rows;
  }

  async #read(followed: Followed, run: RunRef, other: () => PlanDefinition | null): Promise<void> {
    const { cursor, ref } = followed;
    let end: EndRecord | null = null;
    let isBroken = false;
    const options = { until: "now", events: false } as const;
    for await (const item of this.#host.observe(ref, cursor, options)) {
      if (item.kind === "start") {
        const definition = isOf(item.start, run) && (await definitionIn(this.#host, ref, other));
        if (!definition) return;
        followed.fold = new RunFold(definition, item.start);
      } else if (item.kind === "step") followed.fold?.add(item.step);
      else if (item.kind === "end") end = item.end;
      else if (item.kind === "status") isBroken = item.state.status === "corrupt";
      else continue;
      followed.cursor = item.cursor;
    }
    const hasGrown = followed.cursor !== cursor || isBroken;
    if (hasGrown) followed.rows = followed.fold?.rows({ end, isBroken }) ?? null;
  }
}

/** Tells whether a thread is this run. A manual fork is not: it has another thread id. */
function isOf({ parameters }: StartRecord, { id, workflow_id }: RunRef): boolean {
  const { runId = id, workflowId } = parameters.options;
  return workflowId === workflow_id && runId === id;
}

/** Returns the definition that a thread runs, from its bundle, or `other` if the bundle is unreadable. */
export async function definitionIn(
  host: Host,
  { hash }: ThreadRef,
  other: () => PlanDefinition | null,
): Promise<PlanDefinition | null> {
  const descriptor = (await host.descriptor(hash)) as PlanDescriptor | null;
  return (descriptor && planIn(descriptor)) ?? other();
}
