import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { HostChange } from "@uncaged/workflow/host";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { Progress } from "../src/progress/progress.ts";
import { Collector } from "./collector.ts";
import { Observed, removeObserved, traceOf } from "./observed.ts";

setDefaultTimeout(180_000);
afterAll(removeObserved);

const secret = "sk-planted-secret-1234567890";
const prompt = "PLANTED-PROMPT";

function expectNoRepeats({ spans }: Collector): void {
  const ids = spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
}

/** One promise for each thread. Creates the promise on demand. */
class Signals {
  readonly #all = new Map<string, PromiseWithResolvers<void>>();

  of(threadId: string): PromiseWithResolvers<void> {
    const known = this.#all.get(threadId) ?? Promise.withResolvers<void>();
    this.#all.set(threadId, known);
    return known;
  }
}

/** A workflow with one attempt that has 1,100 tool calls. */
const wide = bundleOf(`
  const attempt = options.attempts.open({ role: "wide" });
  await attempt.run(async () => {
    const channel = process.getBuiltinModule("node:diagnostics_channel").channel("uncaged.workflow");
    for (let n = 0; n < 1_100; n += 1)
      for (const type of ["tool_start", "tool_done"])
        channel.publish({ type, stepID: null, payload: { name: "look", id: String(n) } });
  });
  yield { ...step("wide"), attempt: attempt.id };
`);

test("spans contain no prompt or secret by default; with contents enabled, secrets are masked", async () => {
  const env = { PATH: process.env.PATH ?? "", PLANTED_TOKEN: secret };
  const params = { secret: `${prompt} ${secret}`, fails: true };
  const observed = await Observed.start();
  const quiet = await Collector.start();
  const telemetry = await observed.telemetry(quiet);
  const first = await observed.run(params, { prompt: `${prompt} ${secret}`, env });
  await observed.ended(first, "failed");
  await traceOf(quiet, first);
  await telemetry.stop();
  expect(quiet.text).toContain("execute_tool look");
  for (const planted of [secret, prompt]) expect(quiet.text).not.toContain(planted);
  const open = await Collector.start();
  const more = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };
  const shown = await observed.telemetry(open, more);
  const second = await observed.run(params, { prompt: `${prompt} ${secret}`, env });
  await observed.ended(second, "failed");
  await traceOf(open, second);
  await shown.stop();
  expect(open.text).not.toContain(secret);
  expect(open.text).toContain(`${prompt} ***`);
  await Promise.all([quiet.stop(), open.stop()]);
});

test("a restart sends the work that ended meanwhile, and sends no span twice", async () => {
  const observed = await Observed.start();
  const collector = await Collector.start();
  const before = await observed.run();
  await observed.ended(before);
  const telemetry = await observed.telemetry(collector);
  const gate = join(observed.folder, "gate");
  const half = await observed.run({ count: 5 }, { options: { gate } });
  const whole = await observed.run();
  await observed.ended(whole);
  await traceOf(collector, whole);
  await until(() => collector.spans.filter(({ name }) => name === "count").length === 2);
  await telemetry.stop();
  const sent = collector.spans.length;
  await Bun.write(gate, "");
  await observed.ended(half);
  const missed = await observed.run();
  await observed.ended(missed);
  const again = await observed.telemetry(collector);
  await traceOf(collector, half);
  await traceOf(collector, missed);
  await again.stop();
  expectNoRepeats(collector);
  expect(collector.spans.length).toBeGreaterThan(sent);
  const threads = new Set(collector.spans.map(({ attributes }) => attributes["uncaged.thread.id"]));
  expect(threads).not.toContain(before.threadId);
  await collector.stop();
});

test("after the loss of the progress file, spans are sent again with the same ids", async () => {
  const observed = await Observed.start();
  const collector = await Collector.start();
  const telemetry = await observed.telemetry(collector);
  const gate = join(observed.folder, "gate");
  const ref = await observed.run({}, { options: { gate } });
  await until(() => collector.spans.filter(({ name }) => name === "writer").length === 1);
  await telemetry.stop();
  const file = join(observed.path, "telemetry.jsonl");
  await Bun.file(file).delete();
  const again = await observed.telemetry(collector);
  // The watcher writes the file after it has found the open threads.
  await until(() => Bun.file(file).exists());
  await Bun.write(gate, "");
  await observed.ended(ref);
  await traceOf(collector, ref);
  await again.stop();
  const writers = collector.spans.filter(({ name }) => name === "writer");
  expect(writers.length).toBe(2);
  expect(writers[0]).toEqual(writers[1] as (typeof writers)[0]);
  await collector.stop();
});

test.each([
  ["answers 500", 500],
  ["answers 404", 404],
  ["hangs", null],
] as const)(
  "an endpoint that %s is reported once, and gets all spans when it works again",
  async (_, status) => {
    const observed = await Observed.start();
    const collector = await Collector.start();
    collector.fault = (_request, response) => {
      if (status !== null) response.writeHead(status).end();
      return true;
    };
    process.env.OTEL_EXPORTER_OTLP_TIMEOUT = "300";
    const telemetry = await observed.telemetry(collector);
    delete process.env.OTEL_EXPORTER_OTLP_TIMEOUT;
    const ref = await observed.run({ count: 4 });
    await observed.ended(ref);
    await until(() => observed.notes.length > 0);
    await until(() => collector.requests > 2);
    collector.fault = () => false;
    await traceOf(collector, ref);
    await telemetry.stop();
    expect(observed.notes.length).toBe(1);
    expect(observed.notes[0]).toContain(collector.url);
    expectNoRepeats(collector);
    await collector.stop();
  },
);

test("a change that arrives during the export of its ended thread does not repeat the export", async () => {
  const observed = await Observed.start();
  const collector = await Collector.start();
  const [sent, reported] = [new Signals(), new Signals()];
  const changes = async function* (signal: AbortSignal): AsyncGenerator<HostChange> {
    for await (const change of observed.host.changes(signal)) {
      yield change;
      if (change.kind !== "thread" || change.row.status !== "completed") continue;
      const { threadId } = change.row;
      await sent.of(threadId).promise;
      yield change;
      reported.of(threadId).resolve();
    }
  };
  collector.beforeResponse = async (spans) => {
    const root = spans.find(({ parentSpanId }) => parentSpanId === "");
    const threadId = root?.attributes["uncaged.thread.id"];
    if (typeof threadId !== "string") return;
    sent.of(threadId).resolve();
    await reported.of(threadId).promise;
  };
  const telemetry = await observed.telemetry(collector, {}, { changes });
  for (const ref of [await observed.run(), await observed.run()]) {
    await observed.ended(ref);
    await traceOf(collector, ref);
  }
  await telemetry.stop();
  expectNoRepeats(collector);
  const [ended] = collector.metrics.get("uncaged.thread.duration") ?? [];
  expect(ended?.count).toBe(2);
  await collector.stop();
});

test("of two observers of a storage root, one sends; the other takes over when the first stops", async () => {
  const observed = await Observed.start();
  const collector = await Collector.start();
  const first = await observed.telemetry(collector);
  const second = await observed.telemetry(collector);
  const one = await observed.run();
  await observed.ended(one);
  await traceOf(collector, one);
  await first.stop();
  const two = await observed.run();
  await observed.ended(two);
  await traceOf(collector, two);
  await second.stop();
  expectNoRepeats(collector);
  await collector.stop();
});

test("an accepted request is not sent again when the next request of its attempt fails", async () => {
  const observed = await Observed.start();
  await observed.add("wide", wide);
  const collector = await Collector.start();
  let requests = 0;
  collector.fault = ({ url }, response) => {
    if (url !== "/v1/traces" || ++requests !== 2) return false;
    response.writeHead(400).end();
    return true;
  };
  const telemetry = await observed.telemetry(collector);
  const ref = await observed.run({}, { workflow: "wide" });
  await observed.ended(ref);
  const spans = await traceOf(collector, ref);
  await telemetry.stop();
  expectNoRepeats(collector);
  expect(spans.filter(({ name }) => name === "execute_tool look").length).toBe(1_100);
  expect(requests).toBe(5);
  await collector.stop();
});

test("without an endpoint no telemetry is recorded, and an invalid endpoint is reported without its password", async () => {
  const observed = await Observed.start();
  const none = await observed.telemetry({ url: "" });
  await none.stop();
  expect(await Bun.file(join(observed.path, "telemetry.jsonl")).exists()).toBe(false);
  for (const url of ["grpc://me:planted@localhost:4317", "nowhere"]) {
    await (await observed.telemetry({ url })).stop();
  }
  expect(observed.notes.length).toBe(4);
  expect(observed.notes.join()).not.toContain("planted");
  const grpc = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  await (await observed.telemetry({ url: "http://localhost:4317" }, grpc)).stop();
  expect(observed.notes.at(-1)).toContain("use http/protobuf");
});

test("an incomplete line does not lose progress, and a rewrite keeps the entries of ended threads", async () => {
  const observed = await Observed.start();
  const first = Progress.open(observed.path, () => true);
  first.rewrite();
  first.add("A", ["1", "2"]);
  first.end("B");
  const path = join(observed.path, "telemetry.jsonl");
  await Bun.write(path, `${await Bun.file(path).text()}{"thread":"A","atte`);
  const second = Progress.open(observed.path, () => true);
  second.add("A", ["3"]);
  const third = Progress.open(observed.path, () => true);
  expect([...third.exported("A")]).toEqual(["1", "2", "3"]);
  third.rewrite();
  const fourth = Progress.open(observed.path, () => true);
  expect(fourth.isComplete("B", Date.now(), true)).toBe(true);
  expect(fourth.isComplete("B", 1, false)).toBe(true);
  expect(fourth.isComplete("old", 1, true)).toBe(true);
  expect(fourth.isComplete("A", 1, true)).toBe(false);
  expect(fourth.open).toEqual(["A"]);
});
