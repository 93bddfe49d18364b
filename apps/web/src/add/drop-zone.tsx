import { FileCheck2, FileUp, FolderOpen } from "lucide-react";
import { type ChangeEvent, type DragEvent, useId, useRef, useState } from "react";
import { Button } from "../controls/button.tsx";
import { counted, size } from "../format/amount.ts";
import styles from "./add.module.css";
import { chosenFiles, type Dropped, droppedFiles } from "./dropped.ts";
import { baseOf, type Files } from "./files.ts";

type Props = { files: Files; onFiles: (dropped: Dropped) => void };

/** Takes files and folders, dropped or chosen. */
export function DropZone({ files, onFiles }: Props) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void droppedFiles(event.dataTransfer).then(onFiles);
  };
  const change = ({ target }: ChangeEvent<HTMLInputElement>) => {
    if (target.files?.length) onFiles(chosenFiles(target.files));
    // Else the same file, mended, could not be chosen again.
    target.value = "";
  };
  return (
    <div
      className={`${styles.zone} ${isOver ? styles.over : ""}`}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {files.size > 0 ? <FileCheck2 aria-hidden /> : <FileUp aria-hidden />}
      <label htmlFor={id} className={styles.choose}>
        {titleOf(files)}
      </label>
      <input id={id} type="file" multiple className={styles.input} onChange={change} />
      <p className={styles.kinds}>
        {files.size > 0 ? (
          `${sizeOf(files)}. Drop or choose more: a file of the same name takes the place of the one before.`
        ) : (
          <>
            A bundle (<code>.esm.js</code>), TypeScript (<code>.ts</code>) or a step workflow (
            <code>.json</code>, <code>.yaml</code>), with the files that it imports or runs
          </>
        )}
      </p>
      <FolderChoice onChange={change} />
    </div>
  );
}

function FolderChoice({ onChange }: { onChange: (event: ChangeEvent<HTMLInputElement>) => void }) {
  const input = useRef<HTMLInputElement | null>(null);
  return (
    <>
      <Button
        small
        icon={<FolderOpen />}
        className={styles.folder}
        onClick={() => input.current?.click()}
      >
        Choose a folder
      </Button>
      <input
        ref={(box) => {
          input.current = box;
          if (box) box.webkitdirectory = true;
        }}
        type="file"
        hidden
        aria-label="Folder"
        onChange={onChange}
      />
    </>
  );
}

function titleOf(files: Files): string {
  const [only, second] = files.keys();
  if (only === undefined) return "Drop a file here, or choose one";
  return second === undefined ? baseOf(only) : counted(files.size, "file");
}

const sizeOf = (files: Files): string =>
  size([...files.values()].reduce((sum, file) => sum + file.size, 0));
