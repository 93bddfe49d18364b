import type { ThreadInput, WorkflowFn, WorkflowOptions } from "../contract/contract.ts";
import { messageOf, failedError } from "../contract/error.ts";
import { sleep } from "./halt.ts";

/** What closing a generator needs of the engine's surroundings. */
export type ClosingParts = {
  /** Runs a function in the thread's own async context. */
  scope: <T>(fn: () => T) => T;
  /** Adds a line to the thread's debug log, which masks secrets. */
  note: (tag: string, content: string) => void;
  /** How long a generator may take to close, in milliseconds. */
  closingMs: number;
};

/** Starts a workflow. @throws WorkflowError `NO_GENERATOR`, and whatever `run` throws. */
export function beginGenerator(
  run: WorkflowFn,
  input: ThreadInput,
  options: WorkflowOptions,
): ReturnType<WorkflowFn> {
  const generator = run(input, options);
  if (typeof generator?.next === "function" && Symbol.asyncIterator in generator) return generator;
  throw failedError(
    "NO_GENERATOR",
    "run did not return an async generator",
    "write it as: export const run = async function* (input, options) { … }",
  );
}

/**
 * Closes a generator so that its `finally` runs. `return()` waits behind a pending `next()`, so it is
 * waited for no longer than `closingMs`; what it throws is noted. Never throws.
 */
export async function closeGenerator(
  generator: ReturnType<WorkflowFn>,
  { scope, note, closingMs }: ClosingParts,
): Promise<void> {
  const over = new AbortController();
  const closing = scope(async () => {
    await generator.return({ returnCode: 0, summary: "" });
  }).catch((thrown) => note("C6N4ZR1H", `closing the generator threw: ${messageOf(thrown)}`));
  const late = sleep(closingMs, over.signal).then(() => "late" as const);
  const first = await Promise.race([closing, late]);
  over.abort();
  if (first === "late") note("0WJ5PYBE", `the generator did not close within ${closingMs} ms`);
}
