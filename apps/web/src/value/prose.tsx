import { lazy, Suspense, useState } from "react";
import { Button } from "../controls/button.tsx";
import { count } from "../format/amount.ts";
import { readJson } from "../schema/json.ts";
import styles from "./value.module.css";

const MarkdownText = lazy(() => import("./markdown.tsx"));

const mostLines = 24;
const mostLetters = 2_400;

type Props = {
  text: string;
  /** More of it is coming: it is shown as it is, with a cursor. */
  isGrowing?: boolean;
  /** Laid out as Markdown when it is whole. */
  isMarkdown?: boolean;
};

/** A text of any length: what is long is cut until it is asked for, what is JSON is laid out. */
export function Prose({ text, isGrowing = false, isMarkdown = false }: Props) {
  const [isWhole, setWhole] = useState(false);
  const json = isGrowing ? null : jsonIn(text);
  const shown = json ?? text;
  const lines = shown.split("\n");
  const isLong = !isGrowing && (lines.length > mostLines || shown.length > mostLetters);
  const isCut = isLong && !isWhole;
  const part = isCut ? `${lines.slice(0, mostLines).join("\n").slice(0, mostLetters)}…` : shown;
  const plain = (
    <div className={json === null ? styles.text : styles.json}>
      {part}
      {isGrowing && <span className={styles.cursor} aria-hidden />}
    </div>
  );
  return (
    <div className={styles.prose}>
      {isMarkdown && !isGrowing && json === null ? (
        <Suspense fallback={plain}>
          <MarkdownText text={part} />
        </Suspense>
      ) : (
        plain
      )}
      {isLong && (
        <Button small onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${count(lines.length)} lines`}
        </Button>
      )}
    </div>
  );
}

/** A text that is JSON, laid out; null when it is none. */
function jsonIn(text: string): string | null {
  if (!/^\s*[{[]/.test(text)) return null;
  const { value, problem } = readJson(text);
  return problem === null ? JSON.stringify(value, null, 2) : null;
}
