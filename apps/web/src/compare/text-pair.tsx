import { useMemo } from "react";
import { Pieces } from "../diff/pieces.tsx";
import { piecesOf } from "../diff/words.ts";
import styles from "./compare.module.css";

type Props = { a: string; b: string; code?: boolean };

/** Two texts side by side, each with what the other has not got marked. */
export function TextPair({ a, b, code }: Props) {
  const pieces = useMemo(() => piecesOf(a, b), [a, b]);
  return (
    <div className={styles.texts}>
      <Pieces pieces={pieces.a} side="left" code={code} />
      <Pieces pieces={pieces.b} side="right" code={code} />
    </div>
  );
}
