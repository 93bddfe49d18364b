import { X } from "lucide-react";
import { Button } from "../controls/button.tsx";
import { SelectField } from "../controls/field.tsx";
import { counted, size } from "../format/amount.ts";
import styles from "./add.module.css";
import { candidatesOf, type Files } from "./files.ts";

type Props = {
  files: Files;
  /** The file that is the workflow; null when the reader must say. */
  workflow: string | null;
  onWorkflow: (path: string) => void;
  onRemove: (path: string) => void;
};

/** The files that are sent together, and which of them is the workflow. */
export function FileList({ files, workflow, onWorkflow, onRemove }: Props) {
  const candidates = candidatesOf(files.keys());
  return (
    <section className={styles.files} aria-label="Files">
      {candidates.length > 1 && (
        <SelectField
          label="The workflow's own file"
          className="mono"
          value={workflow ?? ""}
          hint={workflow === null ? "The others are imported or run by it." : undefined}
          onChange={({ target }) => onWorkflow(target.value)}
        >
          {workflow === null && <option value="">Choose it…</option>}
          {candidates.map((path) => (
            <option key={path}>{path}</option>
          ))}
        </SelectField>
      )}
      <ul className={styles.list}>
        {[...files].map(([path, file]) => (
          <li key={path}>
            <span className={`mono ${styles.path}`}>{path}</span>
            {path === workflow && <span className={styles.own}>workflow</span>}
            <span className={styles.size}>{size(file.size)}</span>
            <Button
              small
              look="quiet"
              icon={<X />}
              aria-label={`Remove ${path}`}
              onClick={({ currentTarget }) => {
                focusBeside(currentTarget);
                onRemove(path);
              }}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Gives the focus to the next line, or the one before: the button that has it goes away. */
function focusBeside(button: HTMLElement): void {
  const line = button.closest("li");
  const beside = line?.nextElementSibling ?? line?.previousElementSibling;
  beside?.querySelector("button")?.focus();
}

/** What was dropped and is not sent. */
export function LeftOut({ others }: { others: readonly string[] }) {
  const [first, ...rest] = others;
  if (first === undefined) return null;
  const more = rest.length > 0 ? ` and ${counted(rest.length, "other")}` : "";
  return (
    <p className={styles.leftOut}>
      Left out: {first}
      {more}. Only what a workflow can import is sent: code, JSON, YAML, TOML and text.
    </p>
  );
}
