import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { spansIn } from "./protobuf.ts";

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number };
type KeyValue = { key: string; value: Value };

/** A received span. Times are in milliseconds. */
export type Received = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  start: number;
  end: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  status: number;
};

type Point = {
  attributes: KeyValue[];
  sum?: number;
  count?: number | string;
  asDouble?: number;
  asInt?: number | string;
};
type Metric = { name: string; unit: string } & Partial<
  Record<"sum" | "gauge" | "histogram", { dataPoints: Point[] }>
>;

/** A received point of a metric: the value of a sum or gauge, the sum and the count of a histogram. */
export type ReceivedPoint = { attributes: Record<string, unknown>; value: number; count: number };

type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

const plain = ({ stringValue, intValue, doubleValue }: Value): unknown =>
  stringValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue));

const attributesOf = (list: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, plain(value)]));

const millis = (nanos: string | number): number => Math.round(Number(BigInt(nanos) / 1000n) / 1000);

/** Spans in the JSON encoding of OTLP, also the result of {@link spansIn} for the binary encoding. */
export type WireSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: KeyValue[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
};

/** A collector on the loopback address that accepts OTLP over HTTP as JSON and as protobuf. */
export class Collector {
  readonly spans: Received[] = [];
  /** The last points of each metric. */
  readonly metrics = new Map<string, ReceivedPoint[]>();
  /** The bytes of all accepted requests, as text. */
  text = "";
  requests = 0;
  /** Called for each request. Returns true if it has answered the request instead of the collector. */
  fault: Answer = () => false;
  /** Runs between the receipt of spans and their response. */
  beforeResponse: (spans: readonly Received[]) => Promise<void> = async () => undefined;
  #server = createServer((request, response) => void this.#take(request, response));

  static async start(port = 0): Promise<Collector> {
    const collector = new Collector();
    const { promise, resolve } = Promise.withResolvers<void>();
    collector.#server.listen(port, "127.0.0.1", resolve);
    await promise;
    return collector;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    if (this.fault(request, response)) return;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    this.text += body.toString("latin1");
    const isJson = request.headers["content-type"]?.includes("json") ?? false;
    if (request.url === "/v1/traces") {
      const spans = isJson ? jsonSpans(body) : spansIn(body);
      const taken = spans.map(received);
      this.spans.push(...taken);
      await this.beforeResponse(taken);
    } else if (isJson) this.#takeMetrics(body);
    response.writeHead(200, { "content-type": request.headers["content-type"] });
    response.end(isJson ? "{}" : "");
  }

  #takeMetrics(body: Buffer): void {
    const document = JSON.parse(body.toString()) as {
      resourceMetrics: { scopeMetrics: { metrics: Metric[] }[] }[];
    };
    const all = document.resourceMetrics.flatMap((one) => one.scopeMetrics);
    for (const metric of all.flatMap((one) => one.metrics)) {
      const points = (metric.sum ?? metric.gauge ?? metric.histogram)?.dataPoints ?? [];
      this.metrics.set(
        metric.name,
        points.map(({ attributes, sum, asDouble, asInt, count }) => ({
          attributes: attributesOf(attributes),
          value: sum ?? asDouble ?? Number(asInt ?? 0),
          count: Number(count ?? 0),
        })),
      );
    }
  }

  /** Returns the sum of a metric's points whose attributes have these values. */
  total(name: string, wanted: Record<string, unknown> = {}): number {
    const fits = ({ attributes }: ReceivedPoint) =>
      Object.entries(wanted).every(([key, value]) => attributes[key] === value);
    const points = (this.metrics.get(name) ?? []).filter(fits);
    return points.reduce((sum, { value }) => sum + value, 0);
  }

  /** Returns the spans of a thread's trace. */
  trace(traceId: string): Received[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }
}

function jsonSpans(body: Buffer): WireSpan[] {
  const { resourceSpans } = JSON.parse(body.toString()) as {
    resourceSpans: { scopeSpans: { spans: WireSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

const received = (span: WireSpan): Received => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId ?? "",
  name: span.name,
  kind: span.kind,
  start: millis(span.startTimeUnixNano),
  end: millis(span.endTimeUnixNano),
  attributes: attributesOf(span.attributes),
  links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
  status: span.status?.code ?? 0,
});
