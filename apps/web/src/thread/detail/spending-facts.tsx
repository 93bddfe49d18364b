import { cost, count, duration } from "../../lib/format.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import type { Spending } from "./parts.ts";

/** The tokens by kind, the models, the latency and the cost of an attempt. */
export function SpendingFacts({ spending }: { spending: Spending }) {
  const { models, latencyMs, tokens: used, cost: dollars } = spending;
  const kinds = Object.entries(used).filter(([, value]) => value > 0);
  return (
    <Facts
      look="row"
      facts={[
        ...kinds.map(([name, value]): Fact => [wordsOf(name), count(value)]),
        ["Model", models.join(", ") || null],
        ["Latency", latencyMs === null ? null : duration(latencyMs)],
        ["Cost", dollars === null ? null : cost(dollars)],
      ]}
    />
  );
}

/** `cache_read_tokens` as `Cache read`. */
function wordsOf(name: string): string {
  const words = name.replace(/_tokens$/, "").replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
