import { publish } from "../call/call.ts";
import { shown } from "./result.ts";
import type { ToolContext, ToolRuntime } from "./tools.ts";

/** A tool's runtime, and how to end it: its signal is aborted then, and what it tells goes nowhere. */
export function startRuntime(
  name: string,
  context: ToolContext,
): { runtime: ToolRuntime; stop: () => void } {
  const abort = new AbortController();
  const tell = (level: string, message: string, data: unknown): void => {
    if (abort.signal.aborted) return;
    publish("tool_message", { name, level, message: shown(message), data: shown(data) });
  };
  const at = (level: string) => (message: string, data?: unknown) => tell(level, message, data);
  const runtime: ToolRuntime = {
    ...context,
    signal: abort.signal,
    emit: (type, payload = {}) => {
      tell(type, typeof payload.message === "string" ? payload.message : type, payload);
    },
    text: at("text"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    progress: at("progress"),
  };
  return { runtime, stop: () => abort.abort() };
}
