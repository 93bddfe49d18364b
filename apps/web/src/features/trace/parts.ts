import { isRecord } from "../../lib/json.ts";
import type { Card } from "../../lib/thread-log.ts";

/** What a step's meta says of what it spent; shown separately. */
const spendingKeys = new Set(["usage", "model", "models", "cost"]);

/** What a step used of models: the tokens by kind, the models, how long they took, and the cost. */
export type Usage = {
  models: string[];
  latencyMs: number | null;
  tokens: Readonly<Record<string, number>>;
  cost: number | null;
};

/** What a card says was used: as its events tell, else as its meta does. Null when it used nothing. */
export function usageOf({ activity, step }: Card): Usage | null {
  const meta = step?.meta ?? {};
  const cost = typeof meta.cost === "number" ? meta.cost : null;
  const calls = activity?.models ?? [];
  if (calls.length > 0) {
    const latencies = calls.flatMap(({ latencyMs }) => latencyMs ?? []);
    return {
      models: [...new Set(calls.flatMap(({ model }) => model ?? []))],
      latencyMs: latencies.length > 0 ? sum(latencies) : null,
      tokens: added(calls.map(({ usage }) => usage)),
      cost,
    };
  }
  if (!isRecord(meta.usage)) return null;
  const tokens = Object.entries(meta.usage).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  const models = typeof meta.model === "string" ? [meta.model] : [];
  return { models, latencyMs: null, tokens: Object.fromEntries(tokens), cost };
}

/** How many tokens in all; a total that is told wins over the sum. */
export function totalOf({ tokens }: Usage): number {
  const { total_tokens: total, thinking_tokens: _, ...others } = tokens;
  return total ?? sum(Object.values(others));
}

/** What a step gave: what it told as its outputs, or its meta without what it spent. */
export function outputsOf({ activity, step }: Card): Readonly<Record<string, unknown>> {
  const told = activity?.outputs;
  // An agent's role tells its content and its meta, which the step has in full.
  if (isRecord(told) && !("content" in told && "meta" in told)) return told;
  if (step && isCommit(step.meta)) return writtenBy(step.meta);
  return Object.fromEntries(
    Object.entries(step?.meta ?? {}).filter(
      ([name, value]) => !spendingKeys.has(name) && !isMark(name, value),
    ),
  );
}

// Durable code marks how a value is to be read back; why a step failed is worth a reader's while.
const isMark = (name: string, value: unknown): boolean =>
  name === "__durable__" && isRecord(value) && !("failure" in value);

/** Whether a meta is the record that a step of a document commits: more than what the step gave. */
export const isCommit = (meta: Readonly<Record<string, unknown>>): boolean =>
  typeof meta.phase === "string" && Array.isArray(meta.variables);

function writtenBy({ variables }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const writes: unknown[] = Array.isArray(variables) ? variables : [];
  return Object.fromEntries(
    writes
      .filter(isRecord)
      .filter((write): write is { path: unknown[]; value: unknown } => Array.isArray(write.path))
      .map(({ path, value }) => [path.map(String).join("."), value]),
  );
}

/** The text of a card: what the model said, else what the step says. */
export function responseOf({ activity, step }: Card): string {
  return activity?.response || step?.content || "";
}

/** What the step says beside the model's answer; null when that is the same. */
export function contentBeside({ activity, step }: Card): string | null {
  const said = activity?.response.trim() ?? "";
  const content = step?.content.trim() ?? "";
  return said !== "" && content !== "" && said !== content ? (step?.content ?? null) : null;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

function added(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total = new Map<string, number>();
  for (const one of all) {
    for (const [name, value] of Object.entries(one))
      total.set(name, (total.get(name) ?? 0) + value);
  }
  return Object.fromEntries(total);
}
