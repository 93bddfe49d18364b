import { afterEach, beforeEach, expect, test } from "bun:test";
import { channel } from "node:diagnostics_channel";
import { eventsChannel, type WorkflowEvent } from "@uncaged/workflow";
import { type BundleOptions, stepsBundle, type WorkflowDocument } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

const long = "x".repeat(60_000);
const isCut = expect.objectContaining({ _truncated: true });

const events = channel(eventsChannel);
let heard: WorkflowEvent[] = [];
const listen = (event: unknown) => void heard.push(event as WorkflowEvent);
beforeEach(() => {
  heard = [];
  events.subscribe(listen);
});
afterEach(() => {
  events.unsubscribe(listen);
});

/** Runs a document as a bundle's thread. Returns the payloads of the events of one type. */
async function thread(document: WorkflowDocument, options: BundleOptions) {
  const { run } = stepsBundle(document, options);
  const { signal } = new AbortController();
  const around = { threadId: "01JTHREAD", signal, isDryRun: false, maxRounds: 100 };
  const steps = await Array.fromAsync(run({ prompt: "", steps: [] }, around));
  const payloads = (type: string) =>
    heard.filter((event) => event.type === type).map(({ payload }) => payload);
  return { steps, payloads };
}

const reading = flow(
  [
    {
      id: "Tool_A",
      tool: "read",
      in: { text: "=t", n: 1 },
      out: { $b: "=_result" },
      next: "RETURN",
    },
  ],
  { params: [`t(STRING) = ${JSON.stringify(long)}`], vars: ["$b(OBJECT)"] },
);

const reader = {
  execute: async (_name: string, input: unknown) => {
    const { text } = input as { text: string };
    Object.assign(input as object, { text: "", list: [] });
    return { result: { text, read: true } };
  },
};

test("a thread publishes the full inputs of a step and the full results of its tool, as they were at that time", async () => {
  const { steps, payloads } = await thread(reading, { adapters: { tool: reader } });
  expect(payloads("step_start")).toMatchObject([{ resolvedInputs: { text: long, n: 1 } }]);
  expect(payloads("tool_start")).toMatchObject([{ input: { text: long, n: 1 } }]);
  const output = { text: long, read: true };
  expect(payloads("tool_done")).toMatchObject([{ output, toolResult: { result: output } }]);
  expect(steps).toHaveLength(1);
});

test("a value that is committed in full is truncated in its events", async () => {
  const { steps, payloads } = await thread(reading, { adapters: { tool: reader } });
  expect(steps[0]?.meta.outputs).toEqual({ $b: isCut });
  expect(payloads("step_done").map(({ outputs }) => outputs)).toEqual([{ $b: isCut }]);
  expect(payloads("var_changed")).toMatchObject([{ name: "$b", newValue: isCut }]);
});

test("a thread publishes a model's tool inputs in full, and null for values that JSON can't hold", async () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const input = { list: [long] };
  const document = flow([{ id: "LLM_A", in: { prompt: "Go" }, next: "RETURN" }], {});
  const { payloads } = await thread(document, {
    adapters: {
      llm: {
        async call(_params, _onToken, { onToolUse, onToolResult }) {
          onToolUse({ id: "1", name: "write", input });
          input.list.push("later");
          onToolResult({ tool_use_id: "1", content: long });
          onToolUse({ id: "2", name: "write", input: cycle });
          return { content: "done" };
        },
      },
    },
  });
  expect(payloads("llm_tool_use").map((payload) => payload.input)).toEqual([
    { list: [long] },
    null,
  ]);
  expect(payloads("llm_tool_result")).toMatchObject([{ content: long }]);
});

test("a child's events are published in full too, and truncated in its result", async () => {
  const parent = flow(
    [{ id: "Tool_WorkflowRun", in: { workflow_path: "child.json" }, next: "RETURN" }],
    {},
  );
  const { payloads } = await thread(parent, {
    adapters: { tool: reader },
    subflows: { "child.json": reading },
  });
  const data = payloads("tool_message").map((payload) => payload.data as WorkflowEvent);
  const started = data.find(({ type }) => type === "step_start");
  expect(started?.payload.resolvedInputs).toEqual({ text: long, n: 1 });
  const read = data.find(({ type }) => type === "tool_done");
  expect(read?.payload.output).toEqual({ text: long, read: true });
  const done = payloads("tool_done");
  // The text is in the child's params and variables, and so in its checkpoint, but in no event of the child.
  const result = done[0]?.toolResult as { length: number } | undefined;
  expect(result?.length).toBeLessThan(4 * long.length);
  expect(done).toMatchObject([{ output: isCut, toolResult: isCut }]);
});

test("a listener of an engine receives no value over 10 KB", async () => {
  const run = await ran(reading, { adapters: { tool: reader } });
  expect(run.payloads("step_start")[0]?.resolvedInputs).toEqual({ text: isCut, n: 1 });
  expect(run.payloads("tool_start")[0]?.input).toEqual(isCut);
  expect(Math.max(...run.events.map((event) => JSON.stringify(event).length))).toBeLessThan(2000);
});
