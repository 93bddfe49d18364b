import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { FilePlus2 } from "lucide-react";
import { type SubmitEvent, useState } from "react";
import { addWorkflow, workflowKeys, workflowsQuery } from "../api/workflows.ts";
import { Button } from "../controls/button.tsx";
import { TextField } from "../controls/field.tsx";
import { Added } from "./added.tsx";
import styles from "./add.module.css";
import { type FileKind, kindOf, nameFor, sentNameOf } from "./file.ts";
import { FileProblems } from "./file-problems.tsx";

const kinds: Record<FileKind, string> = {
  bundle: "It is a bundle: it is taken as it is.",
  source:
    "It is TypeScript: it is built into a bundle here. What it imports must lie in it, or be ours.",
  steps: "It is a step workflow: it is checked and built into a bundle here.",
};

type Props = { file: File; name: string | undefined };

/** Names what a file is added as, sends it, and tells what came of it. */
export function AddForm({ file, name: given }: Props) {
  const [name, setName] = useState(given ?? nameFor(file.name));
  const { data: workflows = [] } = useQuery(workflowsQuery);
  const client = useQueryClient();
  const kind = kindOf(file.name);
  const sentName = sentNameOf(file.name);
  const sent = useMutation({
    mutationFn: () => addWorkflow(name, new File([file], sentName)),
    onSuccess: () => client.invalidateQueries({ queryKey: workflowKeys.all }),
  });
  const before = workflows.find((one) => one.name === name);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    sent.mutate();
  };
  if (kind === null) {
    return (
      <p className={styles.refused} role="alert">
        {file.name} can't be added: it is no bundle, no TypeScript and no step workflow by its name.
      </p>
    );
  }
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
              : kinds[kind]
          }
          onChange={({ target }) => setName(target.value)}
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
      {sent.error && <FileProblems error={sent.error} file={sentName} source={file} />}
    </>
  );
}
