import { withoutPasswords } from "@uncaged/workflow/internal";

type Environment = Readonly<Record<string, string | undefined>>;

/** The URL and the encoding for one kind of data. */
export type Target = { url: string; isJson: boolean };

/**
 * The settings of the export, from the variables of the OpenTelemetry specification. Data with a null target is not
 * sent.
 */
export type Settings = {
  traces: Target | null;
  metrics: Target | null;
  /** Whether spans contain the output of models, the inputs and results of tools, and the messages of errors. */
  showsContent: boolean;
  delayMs: number;
  metricsEveryMs: number;
};

const defaultDelayMs = 5_000;
const defaultMetricsMs = 60_000;

const positive = (text: string | undefined, otherwise: number): number => {
  const number = Number(text?.trim() || "NaN");
  return Number.isFinite(number) && number > 0 ? number : otherwise;
};

/** Tells whether the environment names an endpoint for an export. Does not validate the endpoint. */
export const isWanted = (env: Environment): boolean =>
  env.OTEL_SDK_DISABLED?.trim().toLowerCase() !== "true" &&
  ["", "TRACES_", "METRICS_"].some((kind) => env[`OTEL_EXPORTER_OTLP_${kind}ENDPOINT`]?.trim());

/** Reads the settings. Calls `note` for each invalid value. */
export function settingsOf(env: Environment, note: (text: string) => void): Settings {
  const target = (kind: "TRACES" | "METRICS"): Target | null => {
    if (env[`OTEL_${kind}_EXPORTER`]?.trim() === "none") return null;
    const own = env[`OTEL_EXPORTER_OTLP_${kind}_ENDPOINT`]?.trim();
    const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim();
    const name = own ? `OTEL_EXPORTER_OTLP_${kind}_ENDPOINT` : "OTEL_EXPORTER_OTLP_ENDPOINT";
    const text = own || (shared && `${shared.replace(/\/$/, "")}/v1/${kind.toLowerCase()}`);
    if (!text) return null;
    const url = URL.parse(text);
    if (url?.protocol !== "http:" && url?.protocol !== "https:") {
      note(`${name}: not an http URL: ${withoutPasswords(text)}`);
      return null;
    }
    const protocol =
      env[`OTEL_EXPORTER_OTLP_${kind}_PROTOCOL`]?.trim() ||
      env.OTEL_EXPORTER_OTLP_PROTOCOL?.trim() ||
      "http/protobuf";
    if (protocol !== "http/protobuf" && protocol !== "http/json") {
      note(`OTEL_EXPORTER_OTLP_PROTOCOL: ${protocol} is not supported; use http/protobuf`);
      return null;
    }
    return { url: url.href, isJson: protocol === "http/json" };
  };
  const content = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT;
  return {
    traces: target("TRACES"),
    metrics: target("METRICS"),
    showsContent: content?.trim().toLowerCase() === "true",
    delayMs: positive(env.OTEL_BSP_SCHEDULE_DELAY, defaultDelayMs),
    metricsEveryMs: positive(env.OTEL_METRIC_EXPORT_INTERVAL, defaultMetricsMs),
  };
}
