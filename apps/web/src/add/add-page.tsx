import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Command } from "../controls/copy.tsx";
import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";
import { AddForm } from "./add-form.tsx";
import styles from "./add.module.css";
import { DropZone } from "./drop-zone.tsx";
import { FileList, LeftOut } from "./file-list.tsx";
import { candidatesOf, refusalOf, suggestedName, uploadOf } from "./files.ts";
import { type ChosenFiles, useFiles } from "./use-files.ts";

/** Registers files: a bundle, a source that is built, or a step workflow. */
export function AddPage() {
  useTitle("Add");
  const { name } = useSearch({ from: "/add" });
  const chosen = useFiles();
  const { files, others, workflow } = chosen;
  const isEmpty = files.size === 0 && others.length === 0;
  return (
    <Page
      title={name ? `Add a version of ${name}` : "Add a workflow"}
      note="What is added is checked, built where it is a source, and becomes the name's current version."
    >
      <div className={styles.page}>
        <DropZone files={files} onFiles={chosen.add} />
        {isEmpty && (
          <div className={styles.terminal}>
            In a terminal: <Command>{`uncaged-workflow add ${name ?? "greet"} greet.ts`}</Command>
          </div>
        )}
        {files.size > 0 && (
          <FileList
            files={files}
            workflow={workflow}
            onWorkflow={chosen.name}
            onRemove={chosen.remove}
          />
        )}
        <LeftOut others={others} />
        {!isEmpty && <NextToDo chosen={chosen} name={name} />}
      </div>
    </Page>
  );
}

function NextToDo({ chosen, name: given }: { chosen: ChosenFiles; name: string | undefined }) {
  const { files, others, workflow, change, done } = chosen;
  const [typed, setTyped] = useState<string | null>(null);
  const refusal =
    candidatesOf(files.keys()).length === 0 ? noneOf(files, others) : refusalOf(files);
  if (refusal !== null) {
    return (
      <p className={styles.refused} role="alert">
        {refusal}
      </p>
    );
  }
  if (workflow === null) return null;
  return (
    <AddForm
      key={change}
      upload={uploadOf(files, workflow)}
      name={typed ?? given ?? suggestedName(workflow)}
      onName={setTyped}
      onAdded={done}
    />
  );
}

function noneOf(files: ChosenFiles["files"], others: readonly string[]): string {
  const [only = "", second] = [...files.keys(), ...others];
  const what = second === undefined ? `${only} can't` : "None of these files can";
  return `${what} be added: by its name it is no bundle, no TypeScript and no step workflow.`;
}
