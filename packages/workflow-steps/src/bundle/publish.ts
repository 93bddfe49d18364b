import { channel } from "node:diagnostics_channel";
import { eventsChannel, type WorkflowEvent } from "@uncaged/workflow";
import type { RunEvent } from "../document/event.ts";
import { isPlain } from "../expression/value.ts";

/**
 * Publishes an event on the workflow's channel: what records it knows its thread and its time. The event of
 * a step in a child workflow is published as that step's own, with the step that runs the workflow before
 * its id, and not as a message of the tool that runs it.
 */
export function publish(event: RunEvent): void {
  const { type, stepID, payload, attempt } = event;
  const { data } = payload;
  if (type === "tool_message" && isStepEvent(data)) {
    return publish({ ...data, stepID: `${stepID}/${data.stepID}` });
  }
  const published: WorkflowEvent = { type, stepID, payload };
  if (attempt !== undefined) published.attempt = attempt;
  channel(eventsChannel).publish(published);
}

const isStepEvent = (data: unknown): data is RunEvent =>
  isPlain(data) &&
  typeof data.attempt === "string" &&
  typeof data.runID === "string" &&
  typeof data.stepID === "string" &&
  isPlain(data.payload);
