import type { ChildExecutionContext, ExecutionContext } from "../context/context.ts";
import type { StepDocument } from "../document/document.ts";
import type { RunEventType } from "../event/event.ts";
import { writeOutputs } from "./output.ts";

/**
 * Maps a result through a step's `out` in a custom handler; it is then not mapped again.
 *
 * @param result What `_result` is while that goes on.
 */
export async function applyOutputMapping(
  context: ChildExecutionContext,
  step: StepDocument,
  result?: unknown,
): Promise<void> {
  context.locals._result = result ?? null;
  try {
    await writeOutputs({ context, step, signal: new AbortController().signal });
  } finally {
    delete context.locals._result;
  }
}

/** Tells of an event in a custom handler. */
export function emitEvent(
  context: ExecutionContext,
  type: RunEventType,
  stepID: string | null,
  payload: Record<string, unknown>,
): void {
  context.emit(type, stepID, payload);
}
