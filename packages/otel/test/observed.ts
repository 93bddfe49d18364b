import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, openLocalHost, type ThreadRef } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { startTelemetry } from "../src/entry/index.ts";
import { spanIdOf, traceIdOf } from "../src/span/ids.ts";
import type { Collector, Received } from "./collector.ts";

/**
 * A workflow with two concurrent roles. One role fails once and is retried. With `params.fails`, the thread fails at
 * the end.
 */
export const team = bundleOf(`
  const { attempts } = options;
  const { params = {} } = input;
  const publish = (type, payload) =>
    process.getBuiltinModule("node:diagnostics_channel").channel("uncaged.workflow")
      .publish({ type, stepID: null, payload });
  if (input.steps.length === 0) {
    const [one, two] = ["reader", "writer"].map((role) => attempts.open({ role }));
    const first = attempts.open({ role: "tester" });
    await first.run(async () => publish("step_error", { error: params.secret ?? "no" }));
    first.end("failed", new TypeError(params.secret ?? "no"), { try: 1, of: 2, delay_ms: 0 });
    const again = attempts.open({ role: "tester", after: { attempt: first.id, delay_ms: 0 } });
    const inner = await one.run(async () => attempts.open({ role: "helper" }));
    await inner.run(async () => {
      publish("tool_start", { name: "look", input: params.secret ?? "in" });
      publish("tool_done", { name: "look", output: params.secret ?? "out" });
    });
    inner.end("committed");
    yield { ...step("writer"), attempt: two.id };
    yield { ...step("tester"), attempt: again.id };
    yield { ...step("reader"), attempt: one.id };
  }
  for (let n = Math.max(3, input.steps.length); n < (params.count ?? 0); n += 1) yield step("count", String(n));
  const last = attempts.open({ role: "last" });
  await last.run(opened);
  last.end("committed");
  if (params.fails) throw new RangeError(params.secret ?? "failed");
`);

const made: Observed[] = [];

/** Ends the workers and removes the folders. */
export async function removeObserved(): Promise<void> {
  for (const one of made.splice(0)) await one.remove();
}

/** A storage root whose threads are observed. */
export class Observed {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "uw-otel-")));
  readonly path = join(this.folder, "root");
  readonly host: Host = openLocalHost({ path: this.path });
  readonly notes: string[] = [];

  static async start(source = team): Promise<Observed> {
    const observed = new Observed();
    made.push(observed);
    await observed.add("team", source);
    return observed;
  }

  async add(name: string, source: string): Promise<void> {
    const file = join(this.folder, `${name}.esm.js`);
    writeFileSync(file, source);
    await this.host.register(name, file);
  }

  /** Observes the host as a server does. */
  telemetry(
    collector: { url: string },
    more: Record<string, string> = {},
    host: Pick<Host, "changes"> = this.host,
  ) {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
      OTEL_METRIC_EXPORT_INTERVAL: "200",
      ...more,
    };
    const observed: Host = { ...this.host, changes: (signal) => host.changes(signal) };
    return startTelemetry(observed, { env, note: (text) => void this.notes.push(text) });
  }

  async run(
    params: object = {},
    more: Partial<Parameters<Host["start"]>[0]> = {},
  ): Promise<ThreadRef> {
    const env = { PATH: process.env.PATH ?? "" };
    const start = { workflow: "team", prompt: "go", params, cwd: this.folder, env };
    const { hash, threadId } = await this.host.start({ ...start, ...more });
    return { hash, threadId };
  }

  async ended(ref: ThreadRef, status = "completed"): Promise<void> {
    let found = "";
    await until(
      async () => (found = (await this.host.read(ref)).status) === status,
      () => `the thread is ${found}, not ${status}`,
    );
  }

  async killWorkers(): Promise<void> {
    await signalWorkers(openRoot({ path: this.path }), "SIGKILL");
  }

  async remove(): Promise<void> {
    await this.killWorkers();
    await this.host.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits until the collector has the root span of a thread, and returns the spans of its trace. */
export async function traceOf(
  collector: Collector,
  { threadId }: ThreadRef,
  traceId = traceIdOf(threadId),
): Promise<Received[]> {
  const root = spanIdOf(threadId, "");
  await until(
    () => collector.trace(traceId).some(({ spanId }) => spanId === root),
    () => `the trace of ${threadId} has no root span`,
  );
  return collector.trace(traceId);
}
