import type { Attributes } from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import { OTLPMetricExporter as JsonExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import { type Status, statuses, type ThreadRow } from "@uncaged/workflow/host";
import type { Amount } from "../span/calls.ts";
import { nameOf } from "../span/names.ts";
import { chatAttributes, type EndedWork, isOver } from "../span/spans.ts";
import { resourceOf, schemaUrl, serviceName } from "./resource.ts";
import type { Settings, Target } from "./settings.ts";

// Histogram boundaries. The boundaries of tokens come from the semantic conventions.
const tokenBounds = Array.from({ length: 14 }, (_, power) => 4 ** power);
const secondBounds = [
  0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400, 604_800,
];

type Options = Pick<Settings, "metricsEveryMs"> & {
  /** Returns the statuses of the threads that have not ended. */
  openStatuses: () => Iterable<Status>;
  onError: (error: unknown) => void;
};

/** Counts the work of threads and sends the counts to a collector at an interval. */
export class Metrics {
  readonly #provider: MeterProvider;
  readonly #tokens;
  readonly #callSeconds;
  readonly #cost;
  readonly #stepSeconds;
  readonly #threadSeconds;

  constructor({ url, isJson }: Target, { metricsEveryMs, openStatuses, onError }: Options) {
    const exporter = isJson ? new JsonExporter({ url }) : new ProtobufExporter({ url });
    const reader = new PeriodicExportingMetricReader({
      exporter: reporting(exporter, onError),
      exportIntervalMillis: metricsEveryMs,
    });
    this.#provider = new MeterProvider({ resource: resourceOf(), readers: [reader] });
    const meter = this.#provider.getMeter(serviceName, undefined, { schemaUrl });
    const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } });
    this.#tokens = histogram("gen_ai.client.token.usage", "{token}", tokenBounds);
    this.#callSeconds = histogram("gen_ai.client.operation.duration", "s", secondBounds);
    this.#stepSeconds = histogram("uncaged.step.duration", "s", secondBounds);
    this.#threadSeconds = histogram("uncaged.thread.duration", "s", secondBounds);
    this.#cost = meter.createCounter("uncaged.cost", { unit: "{USD}" });
    meter.createObservableGauge("uncaged.threads", { unit: "{thread}" }).addCallback((result) => {
      const open = Map.groupBy(openStatuses(), (status) => status);
      for (const status of statuses.filter((one) => !isOver({ status: one })))
        result.observe(open.get(status)?.length ?? 0, { "uncaged.status": status });
    });
  }

  /** Counts the work of one attempt. Call it once per attempt. */
  work({ workflow }: ThreadRow, { attempt, calls, unreported }: EndedWork): void {
    const { role, stepID, status, startedAt, endedAt } = attempt;
    const named = nameOf(workflow);
    if (startedAt !== null && endedAt !== null) {
      this.#stepSeconds.record(Math.max(0, endedAt - startedAt) / 1000, {
        "uncaged.workflow": named,
        "uncaged.role": nameOf(role ?? stepID ?? "step"),
        "uncaged.status": status,
      });
    }
    for (const call of calls) {
      const attributes = chatAttributes(call);
      this.#spent(call.amount, attributes, named);
      if (call.endedAt !== null)
        this.#callSeconds.record(Math.max(0, call.endedAt - call.startedAt) / 1000, attributes);
    }
    for (const { model, amount } of unreported) {
      const attributes = {
        ...chatAttributes({ model }),
        "gen_ai.operation.name": "invoke_agent",
      };
      this.#spent(amount, attributes, named);
    }
  }

  #spent({ input, output, cost }: Amount, attributes: Attributes, workflow: string): void {
    this.#tokens.record(input, { ...attributes, "gen_ai.token.type": "input" });
    this.#tokens.record(output, { ...attributes, "gen_ai.token.type": "output" });
    if (cost !== null && cost > 0)
      this.#cost.add(cost, { ...attributes, "uncaged.workflow": workflow });
  }

  /** Counts an ended thread. Call it once per thread. */
  thread({ workflow, status, createdAt, updatedAt }: ThreadRow): void {
    const attributes = { "uncaged.workflow": nameOf(workflow), "uncaged.status": status };
    this.#threadSeconds.record(Math.max(0, updatedAt - createdAt) / 1000, attributes);
  }

  /** Sends the last counts and waits for the collector. The caller must set a timeout. */
  async stop(): Promise<void> {
    await this.#provider.shutdown();
  }
}

/** Makes an exporter report failed exports. Returns the exporter. */
function reporting<Exporter extends PushMetricExporter>(
  exporter: Exporter,
  onError: (error: unknown) => void,
): Exporter {
  const send = exporter.export.bind(exporter);
  exporter.export = (metrics, done) =>
    send(metrics, (result) => {
      if (result.code !== ExportResultCode.SUCCESS) onError(result.error);
      done(result);
    });
  return exporter;
}
