import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai/core/error";
import type { Fault } from "../llm/fault.ts";
import { reasonOf } from "../llm/stream.ts";

/** What the OpenAI client threw, null when it is none of its errors. */
export function faultOf(error: unknown): Fault | null {
  if (error instanceof APIConnectionTimeoutError) return { kind: "timeout" };
  if (error instanceof APIConnectionError) {
    return { kind: "connection", reason: reasonOf(error.cause ?? error) };
  }
  if (error instanceof APIError) {
    const { status = 0, code, type } = error;
    const message = status ? error.message.replace(`${status} `, "") : error.message;
    return { kind: "http", status, word: code ?? type ?? "", message };
  }
  return error instanceof SyntaxError ? { kind: "json" } : null;
}
