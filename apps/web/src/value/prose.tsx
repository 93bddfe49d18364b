import { useState } from "react";
import { Button } from "../controls/button.tsx";
import { count } from "../format/amount.ts";
import { readJson } from "../schema/json.ts";
import styles from "./value.module.css";

const mostLines = 24;
const mostLetters = 2_400;

/** A text of any length: what is long is cut until it is asked for, what is JSON is laid out. */
export function Prose({ text, isGrowing = false }: { text: string; isGrowing?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isGrowing ? text : laidOut(text);
  const lines = shown.split("\n");
  const isLong = !isGrowing && (lines.length > mostLines || shown.length > mostLetters);
  const cut = isLong && !isWhole;
  return (
    <div className={styles.prose}>
      <div className={shown === text ? styles.text : styles.json}>
        {cut ? lines.slice(0, mostLines).join("\n").slice(0, mostLetters) : shown}
        {cut && "…"}
        {isGrowing && <span className={styles.cursor} aria-hidden />}
      </div>
      {isLong && (
        <Button small onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${count(lines.length)} lines`}
        </Button>
      )}
    </div>
  );
}

function laidOut(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  const { value, problem } = readJson(text);
  return problem === null ? JSON.stringify(value, null, 2) : text;
}
