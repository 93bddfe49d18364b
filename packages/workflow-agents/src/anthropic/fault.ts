import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
} from "@anthropic-ai/sdk/core/error";
import type { Fault } from "../llm/fault.ts";
import { reasonOf } from "../llm/stream.ts";

/** What the Anthropic client threw, null when it is none of its errors. */
export function faultOf(error: unknown): Fault | null {
  if (error instanceof APIConnectionTimeoutError) return { kind: "timeout" };
  if (error instanceof APIConnectionError) {
    return { kind: "connection", reason: reasonOf(error.cause ?? error) };
  }
  if (error instanceof APIError) {
    const status = error.status ?? 0;
    return {
      kind: "http",
      status,
      word: error.type ?? "",
      message: error.apiMessage ?? error.message,
    };
  }
  return error instanceof SyntaxError ? { kind: "json" } : null;
}
