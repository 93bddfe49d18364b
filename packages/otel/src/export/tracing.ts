import {
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  type IdGenerator,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { StartRecord } from "@uncaged/workflow/host";
import { readTraceparent } from "@uncaged/workflow/internal";
import { rootKey, spanIdOf, traceIdOf } from "../span/ids.ts";
import type { PlannedSpan } from "../span/spans.ts";
import { resourceOf, schemaUrl, serviceName } from "./resource.ts";
import type { Target } from "./settings.ts";

/** Provides the ids of the next span to the SDK. The ids are derived from the thread. */
class DerivedIds implements IdGenerator {
  trace = "";
  span = "";
  readonly generateTraceId = (): string => this.trace;
  readonly generateSpanId = (): string => this.span;
}

/** Collects ended spans until `take` is called. */
class Collector implements SpanProcessor {
  #spans: ReadableSpan[] = [];

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    this.#spans.push(span);
  }

  take(): ReadableSpan[] {
    return this.#spans.splice(0);
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}
}

/** A trace: its id, and the caller's span that contains it. */
type Trace = { traceId: string; parent: string | null; isSampled: boolean };

function traceOf({ threadId, traceparent }: StartRecord): Trace {
  const caller = readTraceparent(traceparent);
  return caller
    ? { traceId: caller.traceId, parent: caller.spanId, isSampled: caller.isSampled }
    : { traceId: traceIdOf(threadId), parent: null, isSampled: true };
}

/** Creates spans with derived ids and sends the spans to a collector. */
export class Tracing {
  readonly #ids = new DerivedIds();
  readonly #collector = new Collector();
  readonly #exporter: SpanExporter;
  readonly #tracer: Tracer;

  constructor({ url, isJson }: Target) {
    this.#exporter = isJson ? new JsonExporter({ url }) : new ProtobufExporter({ url });
    const provider = new TracerProvider({
      resource: resourceOf(),
      idGenerator: this.#ids,
      spanProcessors: [this.#collector],
    });
    this.#tracer = provider.getTracer(serviceName, undefined, { schemaUrl });
  }

  /**
   * Sends spans of a thread in one request. Sends no spans if the caller's trace is not sampled. `origin` is the start
   * record of the parent of a fork; the root span links to the parent.
   * @throws the exporter's error if the collector does not accept the spans.
   */
  async send(start: StartRecord, spans: readonly PlannedSpan[], origin: StartRecord | null) {
    for (const span of spans) this.#make(start, span, origin);
    await this.#export(this.#collector.take());
  }

  #make(start: StartRecord, span: PlannedSpan, origin: StartRecord | null): void {
    const { threadId } = start;
    const { traceId, parent: caller, isSampled } = traceOf(start);
    this.#ids.trace = traceId;
    this.#ids.span = spanIdOf(threadId, span.key);
    const parent = span.parent === null ? caller : spanIdOf(threadId, span.parent);
    const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
    const isRemote = span.parent === null;
    const context =
      parent === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parent, traceFlags, isRemote });
    const { name, attributes, error } = span;
    const kind = span.kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const links = span.key === rootKey && origin ? [linkTo(origin)] : [];
    const made = this.#tracer.startSpan(
      name,
      { kind, links, attributes, startTime: new Date(span.start) },
      context,
    );
    if (error) {
      made.setAttribute("error.type", error.type);
      made.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    }
    made.end(new Date(Math.max(span.start, span.end)));
  }

  async #export(spans: ReadableSpan[]): Promise<void> {
    if (spans.length === 0) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#exporter.export(spans, ({ code, error }) => {
      if (code === ExportResultCode.SUCCESS) resolve();
      else reject(error ?? new Error("the collector refused the spans"));
    });
    await promise;
  }
}

function linkTo(origin: StartRecord): Link {
  const { traceId, isSampled } = traceOf(origin);
  const spanId = spanIdOf(origin.threadId, rootKey);
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { context: { traceId, spanId, traceFlags }, attributes: { "uncaged.link": "fork" } };
}
