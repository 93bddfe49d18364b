import { channel } from "node:diagnostics_channel";
import { eventsChannel, type WorkflowEvent } from "@uncaged/workflow";
import type { RunEvent } from "../document/event.ts";

/** Publishes an event on the workflow's channel: who records it knows its thread, its time and its place. */
export function publish({ type, stepID, payload }: RunEvent): void {
  const event: WorkflowEvent = { type, stepID, payload };
  channel(eventsChannel).publish(event);
}
