import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { Progress } from "../src/progress/progress.ts";
import { Collector } from "./collector.ts";
import { Observed, removeObserved, traceOf } from "./observed.ts";

setDefaultTimeout(180_000);
afterAll(removeObserved);

const secret = "sk-planted-secret-1234567890";
const prompt = "PLANTED-PROMPT";

test("no prompt, content or secret leaves, and contents only when switched on, masked", async () => {
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

test("a restart sends work that ended meanwhile, and nothing else again", async () => {
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
  const ids = collector.spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(sent);
  const threads = new Set(collector.spans.map(({ attributes }) => attributes["uncaged.thread.id"]));
  expect(threads).not.toContain(before.threadId);
  await collector.stop();
});

test("a lost file of progress repeats spans with the same ids", async () => {
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
  // The file is written when the open threads are known.
  await until(() => Bun.file(file).exists());
  await Bun.write(gate, "");
  await observed.ended(ref);
  await traceOf(collector, ref);
  await again.stop();
  const writers = collector.spans.filter(({ name }) => name === "writer");
  expect(writers.length).toBeGreaterThanOrEqual(2);
  for (const writer of writers) expect(writer).toEqual(writers[0] as typeof writer);
  await collector.stop();
});

test.each([
  ["refuses", 500],
  ["does not know the path", 404],
  ["hangs", null],
] as const)(
  "an endpoint that %s is noted once, and gets everything when it works",
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
    const ids = collector.spans.map(({ spanId }) => spanId);
    expect(new Set(ids).size).toBe(ids.length);
    await collector.stop();
  },
);

test("without an endpoint nothing is read, and a wrong one is named without its password", async () => {
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

test("progress survives a torn line, and a rewrite keeps the marks of ended threads", async () => {
  const observed = await Observed.start();
  const first = Progress.open(observed.path);
  first.rewrite();
  first.add("A", ["1", "2"]);
  first.end("B");
  const path = join(observed.path, "telemetry.jsonl");
  await Bun.write(path, `${await Bun.file(path).text()}{"thread":"A","atte`);
  const second = Progress.open(observed.path);
  second.add("A", ["3"]);
  const third = Progress.open(observed.path);
  expect([...third.exported("A")]).toEqual(["1", "2", "3"]);
  third.rewrite();
  const fourth = Progress.open(observed.path);
  expect(fourth.isComplete("B", Date.now(), true)).toBe(true);
  expect(fourth.isComplete("B", 1, false)).toBe(true);
  expect(fourth.isComplete("old", 1, true)).toBe(true);
  expect(fourth.isComplete("A", 1, true)).toBe(false);
  expect(fourth.open).toEqual(["A"]);
});
