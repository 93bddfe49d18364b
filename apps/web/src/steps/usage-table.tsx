import { cost, count } from "../format/amount.ts";
import { duration } from "../format/time.ts";
import type { Usage } from "./parts.ts";
import styles from "./step-card.module.css";

/** What a step used of models, kind by kind. */
export function UsageTable({ usage }: { usage: Usage }) {
  const { models, latencyMs, tokens, cost: dollars } = usage;
  return (
    <dl className={styles.usage}>
      {Object.entries(tokens)
        .filter(([, value]) => value > 0)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{wordsOf(name)}</dt>
            <dd>{count(value)}</dd>
          </div>
        ))}
      {models.length > 0 && (
        <div>
          <dt>Model</dt>
          <dd>{models.join(", ")}</dd>
        </div>
      )}
      {latencyMs !== null && (
        <div>
          <dt>Latency</dt>
          <dd>{duration(latencyMs)}</dd>
        </div>
      )}
      {dollars !== null && (
        <div>
          <dt>Cost</dt>
          <dd>{cost(dollars)}</dd>
        </div>
      )}
    </dl>
  );
}

/** `cache_read_tokens` as `Cache read`. */
function wordsOf(name: string): string {
  const words = name.replace(/_tokens$/, "").replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
