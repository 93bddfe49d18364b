import type { Step } from "@uncaged/workflow";
import {
  type EndRecord,
  type Host,
  isWorkflowError,
  type StartRecord,
  type ThreadRef,
  threadIdPattern,
} from "@uncaged/workflow/host";
import { type PlanDescriptor, planIn } from "../bundle/describe.ts";
import type { PlanDefinition } from "../plan/definition.ts";
import type { RunLog } from "./projection.ts";

/** The thread with an id; null when there is none. */
export async function findThread(host: Host, threadId: string): Promise<ThreadRef | null> {
  if (!threadIdPattern.test(threadId)) return null;
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

/** The definition that a thread runs: that of its bundle, or `other` where that can't be read. */
export async function definitionIn(
  host: Host,
  { hash }: ThreadRef,
  other: PlanDefinition | null,
): Promise<PlanDefinition | null> {
  const descriptor = (await host.descriptor(hash)) as PlanDescriptor | null;
  return (descriptor && planIn(descriptor)) ?? other;
}
