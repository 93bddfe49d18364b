import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { FilePlus2 } from "lucide-react";
import type { SubmitEvent } from "react";
import { workflowKeys, workflowsQuery } from "../api/workflows.ts";
import { Button } from "../controls/button.tsx";
import { TextField } from "../controls/field.tsx";
import { Added } from "./added.tsx";
import styles from "./add.module.css";
import type { FileKind } from "./file.ts";
import { FileProblems } from "./file-problems.tsx";
import type { Upload } from "./files.ts";
import { send } from "./send.ts";

const kinds: Record<FileKind, string> = {
  bundle: "It is a bundle: it is taken as it is, and no other file is.",
  source:
    "It is TypeScript: it is built into a bundle here, with the files above that it imports. " +
    "Of packages only @uncaged/workflow is there.",
  steps:
    "It is a step workflow: it is checked and built into a bundle here, with those above that it runs.",
};

type Props = {
  upload: Upload;
  name: string;
  onName: (name: string) => void;
  onAdded: () => void;
};

/** Names what files are added as, sends them, and tells what came of it. */
export function AddForm({ upload, name, onName, onAdded }: Props) {
  const { data: workflows = [] } = useQuery(workflowsQuery);
  const client = useQueryClient();
  const sent = useMutation({
    mutationFn: () => send(name, upload),
    onSuccess: () => {
      onAdded();
      return client.invalidateQueries({ queryKey: workflowKeys.all });
    },
  });
  const before = workflows.find((one) => one.name === name);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    sent.mutate();
  };
  if (sent.data) return <Added added={sent.data} />;
  return (
    <>
      <form className={styles.form} onSubmit={submit}>
        <TextField
          label="Name"
          className="mono"
          value={name}
          required
          maxLength={64}
          hint={
            before
              ? `${name} has ${before.versions} so far; this is the next version.`
              : upload.kind && kinds[upload.kind]
          }
          onChange={({ target }) => onName(target.value)}
        />
        <Button
          look="solid"
          type="submit"
          icon={<FilePlus2 />}
          isBusy={sent.isPending}
          disabled={name === ""}
        >
          {sent.isPending ? "Adding…" : "Add"}
        </Button>
      </form>
      {sent.error && <FileProblems error={sent.error} upload={upload} />}
    </>
  );
}
