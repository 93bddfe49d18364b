/**
 * The tokens of one or more model calls, as the ledger counts them: `input_tokens` are those that were
 * neither read from nor written to the provider's cache; `thinking_tokens` are part of `output_tokens`.
 */
export type Usage = {
  input_tokens: number;
  output_tokens: number;
  thinking_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
};

/** One model call that was answered. `cost` is in US dollars, null when the model's price is not known. */
export type Spent = { model: string; usage: Usage; cost: number | null };

export const noUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  thinking_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
};

/** The sum of two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    thinking_tokens: a.thinking_tokens + b.thinking_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
  };
}

/** All tokens of a usage; thinking is part of the output. */
export const totalTokens = (usage: Usage): number =>
  usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
