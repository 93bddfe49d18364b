import { isRecord } from "./show.ts";

const names = [
  "input_tokens",
  "output_tokens",
  "thinking_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
] as const;

/**
 * Tokens of one or more model calls. `input_tokens` exclude tokens read from or written to the provider's cache;
 * `thinking_tokens` are part of `output_tokens`.
 */
export type Usage = Record<(typeof names)[number], number>;

const usageOf = (count: (name: keyof Usage) => number): Usage =>
  Object.fromEntries(names.map((name) => [name, count(name)])) as Usage;

export const noUsage: Usage = /* @__PURE__ */ usageOf(() => 0);

export const addUsage = (a: Usage, b: Usage): Usage => usageOf((name) => a[name] + b[name]);

/** Reads a recorded usage, with invalid counts as 0; null when it is not an object. */
export const readUsage = (value: unknown): Usage | null =>
  isRecord(value) ? usageOf((name) => readAmount(value[name]) ?? 0) : null;

/** Reads a recorded amount; null when it is invalid. */
export const readAmount = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;

/** Sums all tokens of a usage; thinking is part of the output. */
export const totalTokens = (usage: Usage): number =>
  usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
