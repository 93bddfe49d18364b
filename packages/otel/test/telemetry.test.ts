import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Attempt, ThreadRef } from "@uncaged/workflow/host";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { spanIdOf, traceIdOf } from "../src/span/ids.ts";
import { Collector, type Received } from "./collector.ts";
import { Observed, removeObserved, traceOf } from "./observed.ts";

setDefaultTimeout(180_000);

let collector: Collector;
beforeEach(async () => {
  collector = await Collector.start();
});
afterEach(() => collector.stop());
afterAll(removeObserved);

/** The parts of a span that describe an attempt. */
const shown = ({ spanId, parentSpanId, start, end, attributes, status }: Received) => ({
  ...{ spanId, parentSpanId, start, end },
  role: attributes["uncaged.role"],
  step: attributes["uncaged.step"] ?? null,
  status: attributes["uncaged.status"],
  isError: status === 2,
});

const expected = ({ threadId }: ThreadRef, attempts: readonly Attempt[]) => {
  const own = attempts.filter(({ saved }) => !saved);
  const known = new Set(own.map(({ attempt }) => attempt));
  return own.map(({ attempt, parent, role, step, status, startedAt, endedAt }) => ({
    spanId: spanIdOf(threadId, attempt),
    parentSpanId: spanIdOf(threadId, known.has(parent ?? "") ? (parent ?? "") : ""),
    // If the workflow opens its attempts itself, the start of a step is not recorded.
    start: startedAt ?? endedAt ?? 0,
    end: endedAt ?? 0,
    ...{ role: role ?? "step", step, status },
    isError: status === "failed" || status === "lost",
  }));
};

const bySpan = <T extends { spanId: string }>(list: readonly T[]): T[] =>
  list.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));

async function expectAttempts(observed: Observed, ref: ThreadRef): Promise<void> {
  const spans = (await traceOf(collector, ref)).filter(
    (one) => "uncaged.attempt" in one.attributes,
  );
  const attempts = await observed.host.attempts(ref);
  expect(bySpan(spans.map(shown))).toEqual(bySpan(expected(ref, attempts)));
}

test.each(["http/json", "http/protobuf"])(
  "%s: each attempt is one span, under its parent",
  async (protocol) => {
    const observed = await Observed.start();
    const telemetry = await observed.telemetry(collector, {
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    });
    const done = await observed.run({ count: 5 });
    const failed = await observed.run({ fails: true });
    await observed.ended(done);
    await observed.ended(failed, "failed");
    await expectAttempts(observed, done);
    await expectAttempts(observed, failed);
    const spans = await traceOf(collector, done);
    const root = spans.find(({ parentSpanId }) => parentSpanId === "");
    expect(root).toMatchObject({
      name: "invoke_workflow team",
      spanId: spanIdOf(done.threadId, ""),
      attributes: {
        "uncaged.thread.id": done.threadId,
        "uncaged.workflow": "team",
        "uncaged.version": done.hash,
        "uncaged.status": "completed",
        "uncaged.steps": 5,
      },
    });
    const tool = spans.find(({ name }) => name === "execute_tool look");
    const helper = spans.find(({ name }) => name === "helper");
    expect(tool?.parentSpanId).toBe(helper?.spanId as string);
    expect(tool?.attributes).toMatchObject({ "gen_ai.operation.name": "execute_tool" });
    for (const { attributes } of spans) expect(attributes["uncaged.thread.id"]).toBe(done.threadId);
    expect(collector.text).toContain("https://opentelemetry.io/schemas/1.41.0");
    const bad = collector.spans.filter(({ attributes }) => "error.type" in attributes);
    expect(new Set(bad.map(({ attributes }) => attributes["error.type"]))).toContain("TypeError");
    await telemetry.stop();
    expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(collector.spans.length);
    expect(observed.notes).toEqual([]);
  },
);

test("a killed thread and its fork have separate traces, and the fork's trace links to its origin", async () => {
  const observed = await Observed.start();
  const telemetry = await observed.telemetry(collector);
  const gate = join(observed.folder, "never");
  const killed = await observed.run({ count: 6 }, { options: { gate } });
  await until(async () => (await observed.host.read(killed)).steps.length === 6);
  await until(() => collector.total("uncaged.threads", { "uncaged.status": "running" }) === 1);
  const isOpen = ({ role, status }: Attempt) => role === "last" && status === "running";
  await until(async () => (await observed.host.attempts(killed)).some(isOpen));
  await observed.killWorkers();
  await observed.ended(killed, "interrupted");
  await until(() => collector.total("uncaged.threads", { "uncaged.status": "interrupted" }) === 1);
  await observed.host.control(killed, { kind: "resume", env: {} });
  await until(async () =>
    (await observed.host.attempts(killed)).some((one) => one.status === "running"),
  );
  await observed.host.control(killed, { kind: "kill" });
  await observed.ended(killed, "killed");
  const fork = await observed.host.fork(killed, {
    env: {},
    keep: { atStep: 4 },
    options: { gate: "" },
  });
  await observed.ended(fork);
  await expectAttempts(observed, killed);
  await expectAttempts(observed, fork);
  const spans = await traceOf(collector, killed);
  expect(spans.map(({ attributes }) => attributes["uncaged.status"])).toContain("lost");
  const root = (await traceOf(collector, fork)).find(({ parentSpanId }) => parentSpanId === "");
  expect(root?.links).toEqual([
    { traceId: traceIdOf(killed.threadId), spanId: spanIdOf(killed.threadId, "") },
  ]);
  await telemetry.stop();
});

test("a thread continues a valid traceparent of its caller, and ignores an invalid traceparent", async () => {
  const observed = await Observed.start();
  const telemetry = await observed.telemetry(collector);
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const caller = "00f067aa0ba902b7";
  const start = (traceparent: string) => observed.run({}, { traceparent });
  const continued = await start(`00-${traceId}-${caller}-01`);
  const ignored = await start(`00-${traceId}-${caller}-01-more`);
  const unsampled = await start(`00-${"a".repeat(32)}-${caller}-00`);
  for (const ref of [continued, ignored, unsampled]) await observed.ended(ref);
  const spans = await traceOf(collector, continued, traceId);
  const root = spans.find(({ spanId }) => spanId === spanIdOf(continued.threadId, ""));
  expect(root?.parentSpanId).toBe(caller);
  expect(spans.length).toBeGreaterThan(3);
  const own = await traceOf(collector, ignored);
  expect(own.find(({ parentSpanId }) => parentSpanId === "")?.name).toBe("invoke_workflow team");
  const fork = await observed.host.fork(continued, { env: {} });
  await observed.ended(fork);
  const forked = await traceOf(collector, fork);
  expect(forked.flatMap(({ links }) => links)).toEqual([
    { traceId, spanId: spanIdOf(continued.threadId, "") },
  ]);
  await telemetry.stop();
  expect(collector.trace("a".repeat(32))).toEqual([]);
});

test("agents, model calls and tools are spans with tokens and cost, and each is counted once", async () => {
  const observed = await Observed.start();
  await observed.host.register("agents", join(import.meta.dir, "agents/agents.ts"));
  const input = { a: 1, b: 2, note: "sum" };
  const tools = [{ name: "add", input }];
  const done = { text: '{"done": true}' };
  const server = await anthropicServer([{ tools: [...tools, ...tools] }, done, { tools }, done]);
  const telemetry = await observed.telemetry(collector);
  const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  const ref = await observed.run({}, { workflow: "agents", env });
  await observed.ended(ref);
  await expectAttempts(observed, ref);
  const spans = await traceOf(collector, ref);
  const agents = spans.filter(({ name }) => name === "invoke_agent adder");
  const chats = spans.filter(({ name }) => name === "chat claude-opus-5-5");
  const used = spans.filter(({ name }) => name === "execute_tool add");
  expect([agents.length, chats.length, used.length]).toEqual([2, 4, 3]);
  const ids = new Set(agents.map(({ spanId }) => spanId));
  for (const { parentSpanId } of [...chats, ...used]) expect(ids).toContain(parentSpanId);
  const attempts = await observed.host.attempts(ref);
  const sum = (key: string) => chats.reduce((all, one) => all + Number(one.attributes[key]), 0);
  const counted = (
    key: "input_tokens" | "output_tokens" | "cache_read_tokens" | "cache_write_tokens",
  ) => attempts.reduce((all, { usage }) => all + (usage?.[key] ?? 0), 0);
  const inTokens =
    counted("input_tokens") + counted("cache_read_tokens") + counted("cache_write_tokens");
  expect(sum("gen_ai.usage.input_tokens")).toBe(inTokens);
  expect(sum("gen_ai.usage.output_tokens")).toBe(counted("output_tokens"));
  expect(chats[0]).toMatchObject({
    kind: 3,
    attributes: {
      "uncaged.thread.id": ref.threadId,
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "claude-opus-5-5",
    },
  });
  const row = await observed.host.row(ref);
  await telemetry.stop();
  await server.stop();
  const type = (name: string) => ({ "gen_ai.token.type": name });
  const usage = "gen_ai.client.token.usage";
  expect(collector.total(usage, type("input"))).toBe(inTokens);
  expect(collector.total(usage, type("output"))).toBe(counted("output_tokens"));
  expect(collector.total("uncaged.cost")).toBeCloseTo(row?.spent.cost ?? -1, 9);
  expect(sum("uncaged.cost")).toBeCloseTo(row?.spent.cost ?? -1, 9);
  expect(collector.total("uncaged.threads")).toBe(0);
  const points = (name: string) =>
    (collector.metrics.get(name) ?? []).reduce((all, { count }) => all + count, 0);
  expect(points("uncaged.thread.duration")).toBe(1);
  expect(points("uncaged.step.duration")).toBe(attempts.length);
  expect(points("gen_ai.client.operation.duration")).toBe(4);
});
