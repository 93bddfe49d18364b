import type { InputRequest } from "./control.ts";

/** An answer to a waiting thread: its text, which may be JSON; or the content and meta of the `__input__` step. */
export type TestAnswer = string | { content: string; meta: Record<string, unknown> };

/** Converts an answer to the request that answers a waiting thread. */
export function inputOf(given: TestAnswer): InputRequest {
  if (typeof given === "string") return { content: given };
  const { value, ...meta } = given.meta;
  return { content: given.content, meta, ...(value !== undefined && { value }) };
}
