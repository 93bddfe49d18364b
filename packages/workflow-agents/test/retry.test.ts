import { afterEach, describe, expect, test } from "bun:test";
import { channel } from "node:diagnostics_channel";
import { eventsChannel, isWorkflowError, type WorkflowEvent } from "@uncaged/workflow";
import { z } from "zod";
import { type CallRetry, role } from "../src/entry/index.ts";
import { type Model, models, threadAt } from "./models.ts";
import type { Fault, Reply } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/* Tests the retries of a role's model calls: their policy, events and deadline. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const refused = (status: number, headers: Record<string, string> = {}): Reply => ({
  fault: { kind: "status", status, type: "", message: "not now", headers },
});
const broken: Fault = { kind: "half-event", after: 3 };
const soon = { backoff: "1ms" };

// Bun drops a channel's subscribers when the channel has no reference.
const eventsOn = channel(eventsChannel);

async function play(model: Model, replies: Reply[], retry?: CallRetry) {
  const server = await model.serve(replies);
  stops.push(server.stop);
  const spec = { description: "", agent: model.agent(), systemPrompt: "", schema: z.object({}) };
  const coder = role({ ...spec, ...(retry && { retry }) });
  const name = crypto.randomUUID();
  const retries: Record<string, unknown>[] = [];
  const listen = (message: unknown) => {
    const { type, stepID, payload } = message as WorkflowEvent;
    if (type === "llm_retry" && stepID === name) retries.push(payload);
  };
  eventsOn.subscribe(listen);
  let [text, error]: [string, unknown] = ["", null];
  try {
    text = (await coder(threadAt(model, server, { role: name }))).content;
  } catch (thrown) {
    error = thrown;
  }
  eventsOn.unsubscribe(listen);
  return { text, error, retries, asked: server.came.length };
}

describe.each(some(models))("a role of $name", (model) => {
  test("retries at most as often as its policy allows", async () => {
    const replies = [refused(529), refused(500), refused(429), { text: "done" }];
    const run = await play(model, replies, { ...soon, attempts: 4 });
    expect([run.text, run.asked]).toEqual(["done", 4]);
    expect(run.retries.map(({ attempt_number }) => attempt_number)).toEqual([2, 3, 4]);
    const least = await play(model, replies, { ...soon, attempts: 2 });
    expect([least.asked, isWorkflowError(least.error) && least.error.code]).toEqual([
      2,
      "LLM_SERVER_ERROR",
    ]);
  });

  test("retries after an answer that broke off", async () => {
    const run = await play(model, [{ text: "half of it", fault: broken }, { text: "whole" }], soon);
    expect([run.text, run.asked]).toEqual(["whole", 2]);
  });

  test("retries only after the errors of its policy", async () => {
    const byType = await play(model, [refused(429)], { ...soon, on: ["timeout"] });
    expect(byType.asked).toBe(1);
    const on = ({ status }: { status: number | null }) => status === 400;
    const byFunction = await play(model, [refused(400), { text: "ok" }], { ...soon, on });
    expect(byFunction.text).toBe("ok");
  });

  test("waits as long as the provider requests, or fails if the wait would exceed its deadline", async () => {
    const asks = refused(429, { "retry-after": "1" });
    const run = await play(model, [asks, { text: "ok" }], soon);
    expect(run.text).toBe("ok");
    expect(run.retries.map(({ delay_ms }) => delay_ms)).toEqual([1000]);
    const late = await play(model, [asks, { text: "ok" }], { ...soon, deadline: "500ms" });
    expect([late.asked, late.retries]).toEqual([1, []]);
  });

  const lies = ["-5", "soon", "99999999", "NaN", ""];
  test.each(some(lies))("ignores an implausible delay in a header: %j", async (header) => {
    const run = await play(model, [refused(429, { "retry-after": header }), { text: "ok" }], soon);
    if (header === "99999999") expect(run.asked).toBe(1);
    else expect(Number(run.retries[0]?.delay_ms)).toBeLessThan(10);
  });
});

test.each([
  [{ attempts: 0 }, "a role's retry: attempts can't be 0"],
  [{ attempts: 1e9 }, "a role's retry: attempts can't be 1000000000"],
  [{ backoff: "soon" }, "a role's retry: backoff can't be soon"],
  [{ deadline: -1 }, "a role's retry: deadline can't be -1"],
  [{ tries: 3 } as CallRetry, "a role's retry: unknown option tries"],
  [
    { on: "all" } as unknown as CallRetry,
    "a role's retry: on must be a list of codes or a function",
  ],
])("an invalid retry policy is refused at definition: %j", (retry, message) => {
  const agent = async () => "";
  const make = () =>
    role({ description: "", agent, systemPrompt: "", schema: z.object({}), retry });
  expect(make).toThrow(message);
});
