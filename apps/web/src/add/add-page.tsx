import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Command } from "../controls/copy.tsx";
import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";
import { AddForm } from "./add-form.tsx";
import styles from "./add.module.css";
import { DropZone } from "./drop-zone.tsx";

/** Registers a file: a bundle, a source that is built, or a step workflow. */
export function AddPage() {
  useTitle("Add");
  const { name } = useSearch({ from: "/add" });
  const [file, setFile] = useState<File | null>(null);
  return (
    <Page
      title={name ? `Add a version of ${name}` : "Add a workflow"}
      note="The file is checked, built where it is a source, and becomes the name's current version."
    >
      <div className={styles.page}>
        <DropZone file={file} onFile={setFile} />
        {!file && (
          <div className={styles.terminal}>
            In a terminal: <Command>{`uncaged-workflow add ${name ?? "greet"} greet.ts`}</Command>
          </div>
        )}
        {file && <AddForm key={keyOf(file)} file={file} name={name} />}
      </div>
    </Page>
  );
}

// A file that was changed on the disk is chosen again under the same name.
const keyOf = ({ name, size, lastModified }: File): string => `${name} ${size} ${lastModified}`;
