import styles from "./diff.module.css";
import type { Piece } from "./words.ts";

type Props = { pieces: readonly Piece[]; side: "left" | "right"; code?: boolean };

/** One of two texts, with what the other has not got marked. */
export function Pieces({ pieces, side, code = false }: Props) {
  return (
    <div className={`${styles.pieces} ${code ? "mono" : ""}`}>
      {pieces.map(({ text, isChanged }, at) =>
        isChanged ? (
          <mark key={at} className={styles[side]}>
            {text}
          </mark>
        ) : (
          <span key={at}>{text}</span>
        ),
      )}
    </div>
  );
}
