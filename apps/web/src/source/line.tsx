import styles from "./source.module.css";
import type { Token } from "./tokens.ts";

type Props = { number: number; tokens: readonly Token[]; isMarked?: boolean };

/** One line of a source, with its number. */
export function SourceLine({ number, tokens, isMarked = false }: Props) {
  return (
    <div className={`${styles.line} ${isMarked ? styles.marked : ""}`}>
      <span className={styles.number} aria-hidden>
        {number}
      </span>
      <code>
        {tokens.map(({ text, look }, at) =>
          look === "" ? (
            text
          ) : (
            <span key={at} className={look}>
              {text}
            </span>
          ),
        )}
      </code>
    </div>
  );
}
