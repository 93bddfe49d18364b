import { FileCheck2, FileUp } from "lucide-react";
import { type DragEvent, useId, useState } from "react";
import { size } from "../format/amount.ts";
import styles from "./add.module.css";
import { endings } from "./file.ts";

type Props = { file: File | null; onFile: (file: File) => void };

/** Takes one file, dropped or chosen. */
export function DropZone({ file, onFile }: Props) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) onFile(dropped);
  };
  return (
    <div
      className={`${styles.zone} ${isOver ? styles.over : ""}`}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {file ? <FileCheck2 aria-hidden /> : <FileUp aria-hidden />}
      <label htmlFor={id} className={styles.choose}>
        {file ? file.name : "Drop a file here, or choose one"}
      </label>
      <input
        id={id}
        type="file"
        className={styles.input}
        accept={endings.map((ending) => ending.replace(".esm", "")).join(",")}
        onChange={({ target }) => {
          const chosen = target.files?.[0];
          if (chosen) onFile(chosen);
          // Else the same file, mended, could not be chosen again.
          target.value = "";
        }}
      />
      <p className={styles.kinds}>
        {file ? (
          `${size(file.size)}. Drop or choose another to take its place.`
        ) : (
          <>
            A bundle (<code>.esm.js</code>), TypeScript (<code>.ts</code>) or a step workflow (
            <code>.json</code>, <code>.yaml</code>)
          </>
        )}
      </p>
    </div>
  );
}
