import type { Host, InfoRecord, ThreadRef } from "@uncaged/workflow/host";
import { knownEvent, readEvent } from "@uncaged/workflow/records";
import { isRecord } from "@uncaged/workflow/internal";

/** The tokens and the cost of work. `input` includes tokens read from and written to the provider's cache. */
export type Amount = {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  thinking: number;
  /** US dollars; null when a price is unknown. */
  cost: number | null;
};

/**
 * One model call, from its events. `endedAt` is null for an unfinished call. `isWhole` is false for an unfinished or
 * aborted call.
 */
export type ModelCall = {
  id: string;
  attempt: string | null;
  model: string;
  startedAt: number;
  endedAt: number | null;
  isWhole: boolean;
  amount: Amount;
};

const countOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;

/** Reads a recorded usage and its cost. */
export function amountOf(usage: unknown, cost: unknown): Amount {
  const counts = isRecord(usage) ? usage : {};
  const cacheRead = countOf(counts.cache_read_tokens);
  const cacheWrite = countOf(counts.cache_write_tokens);
  return {
    input: countOf(counts.input_tokens) + cacheRead + cacheWrite,
    output: countOf(counts.output_tokens),
    ...{ cacheRead, cacheWrite, thinking: countOf(counts.thinking_tokens) },
    cost: typeof cost === "number" ? cost : null,
  };
}

/** Reads the model calls of a thread from its debug log. */
export async function callsOf(host: Host, ref: ThreadRef): Promise<ModelCall[]> {
  const calls = new Map<string, ModelCall>();
  for await (const { record } of host.log(ref, { only: ["llm_start", "llm_usage"] })) {
    take(calls, record);
  }
  return [...calls.values()];
}

function take(calls: Map<string, ModelCall>, record: InfoRecord): void {
  const event = readEvent(record);
  const known = event && knownEvent(event);
  if (known?.type !== "llm_start" && known?.type !== "llm_usage") return;
  const { attempt = null, timestamp, payload } = known;
  const id = payload.call_id;
  const call = calls.get(id) ?? {
    ...{ id, attempt, model: "", startedAt: timestamp, endedAt: null, isWhole: false },
    amount: amountOf(null, null),
  };
  calls.set(id, call);
  if (typeof payload.model === "string") call.model = payload.model;
  if (known.type === "llm_start") return;
  call.amount = amountOf(known.payload.usage, known.payload.cost_usd);
  if (known.payload.state === "open") return;
  call.endedAt = timestamp;
  call.isWhole = known.payload.state === "whole";
}
