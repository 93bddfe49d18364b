import { channel } from "node:diagnostics_channel";
import {
  eventsChannel,
  type RoleOutput,
  type WorkflowEvent,
  type WorkflowFn,
} from "@uncaged/workflow";
import { type RunThreadOptions, runThread, type ThreadOutcome } from "@uncaged/workflow/testing";
import { graphBundle, type GraphAgents } from "../src/entry/index.ts";
import { logEntryOf } from "../src/entry/run.ts";

import { lines, type Node } from "./parts.ts";

export { agent, approval, condition, lines, start } from "./parts.ts";

/** An agent that answers with its node and its prompt: `a(b(start))`. */
export const echo: GraphAgents = async ({ nodeId, prompt }) => ({ output: `${nodeId}(${prompt})` });

/** Runs a graph as a thread in memory. */
export async function drawn(
  nodes: readonly Node[],
  connections: string,
  options: RunThreadOptions & { agents?: GraphAgents } = {},
): Promise<ThreadOutcome> {
  const { agents = echo, ...rest } = options;
  const document = { nodes: [...nodes], connections: lines(connections) };
  const { run } = graphBundle(document, { agents });
  return await runThread(timeless(run), { prompt: "in", ...rest });
}

/** Returns a workflow whose records lack the values that differ between runs. */
export const timeless = (run: WorkflowFn): WorkflowFn =>
  async function* (input, options) {
    const thread = run(input, options);
    try {
      for (let sent: RoleOutput | undefined; ; ) {
        const { done, value } = await thread.next(sent);
        if (done) return value;
        const { durationMs: _, ...meta } = value.meta;
        sent = (yield { ...value, meta }) as RoleOutput | undefined;
      }
    } finally {
      await thread.return({ returnCode: 1, summary: "" });
    }
  };

/** Returns the steps as `role: content`. */
export const texts = ({ steps }: ThreadOutcome): string[] =>
  steps.map(({ content, role }) => `${role}: ${content}`);

/** Returns the events that a workflow publishes while a function runs. */
export async function published<T>(
  run: () => Promise<T>,
): Promise<{ result: T; events: WorkflowEvent[]; log: string[] }> {
  const events: WorkflowEvent[] = [];
  const take = (event: unknown): void => void events.push(event as WorkflowEvent);
  const all = channel(eventsChannel);
  all.subscribe(take);
  try {
    const result = await run();
    const log = events.flatMap((event) => {
      const entry = logEntryOf({ ...event, seq: 1, timestamp: 0 });
      return entry ? `${entry.nodeId} ${entry.type}: ${entry.content}` : [];
    });
    return { result, events, log };
  } finally {
    all.unsubscribe(take);
  }
}
