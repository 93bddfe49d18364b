import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import type { DocumentKind } from "../../editor/kind.ts";
import { DrawnComparison } from "../../editor/versions/comparison.tsx";
import { ApiError } from "../../lib/request.ts";
import { addWorkflow, documentQuery, workflowKeys } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogBody, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { FailureNotice } from "../../ui/states.tsx";

type Props = {
  kind: DocumentKind;
  name: string | null;
  /** The version that the text is based on. */
  base: string | null;
  document: EditedDocument;
  isOpen: boolean;
  onClose: () => void;
  onSaved: (hash: string) => void;
};

/** A newer version, saved by another client. */
type Other = { text: string; hash: string };

/** Saves a document as a new version, if the current version is still its base. */
export function SaveDialog({ kind, name, base, document, isOpen, onClose, onSaved }: Props) {
  const [chosen, choose] = useState(name ?? "");
  const [other, setOther] = useState<Other | null>(null);
  const client = useQueryClient();
  const navigate = useNavigate();
  const target = chosen.trim();
  const saved = useMutation({
    mutationFn: async (expects: string) => {
      const { text } = document.state();
      const file = `${target}.json`;
      const blob = new Blob([text], { type: "application/json" });
      return { text, ...(await addWorkflow(target, file, blob, expects)) };
    },
    onSuccess: ({ text, hash }) => {
      setOther(null);
      document.markSaved(text);
      onSaved(hash);
      onClose();
      document.say(`Saved as a version of ${target}.`);
      void client.invalidateQueries({ queryKey: workflowKeys.all });
      if (target !== name)
        void navigate({ to: `/editor/${kind.name}/$name`, params: { name: target } });
    },
    onError: async (error) => {
      if (!(error instanceof ApiError) || error.code !== "VERSION_CONFLICT") return;
      setOther(await client.query({ ...documentQuery(target), staleTime: 0 }));
    },
  });
  const close = () => {
    saved.reset();
    setOther(null);
    onClose();
  };
  const isOwn = target === name;
  if (other && isOpen) {
    return (
      <Dialog
        wide
        title={
          isOwn ? "Another version was saved meanwhile" : `The workflow ${target} already exists`
        }
        isOpen
        onClose={close}
      >
        <DialogBody>
          <p>
            Nothing was saved. If you save your version on top, {target} keeps both versions, and
            your version becomes the current one.
          </p>
          <DrawnComparison
            kind={kind}
            before={{ label: `${target} as saved`, text: other.text }}
            after={{ label: "Yours", text: document.state().text }}
          />
          {saved.error &&
            !(saved.error instanceof ApiError && saved.error.code === "VERSION_CONFLICT") && (
              <FailureNotice error={saved.error} />
            )}
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={close}>Not now</Button>
            {isOwn && (
              <Button
                onClick={() => {
                  document.replaceAll(other.text, "Take the saved version");
                  document.markSaved(other.text);
                  onSaved(other.hash);
                  close();
                }}
              >
                Take the saved version
              </Button>
            )}
            <Button look="solid" isBusy={saved.isPending} onClick={() => saved.mutate(other.hash)}>
              Save mine on top
            </Button>
          </div>
        </DialogBody>
      </Dialog>
    );
  }
  return (
    <Dialog title="Save as a workflow" isOpen={isOpen} onClose={close}>
      <DialogForm
        action="Save"
        work={saved}
        isDisabled={target === ""}
        onClose={close}
        onSubmit={() => saved.mutate(isOwn ? (base ?? "none") : "none")}
      >
        <TextField
          label="Name"
          hint={
            isOwn
              ? "The saved text becomes the current version. Earlier versions are kept."
              : "The name of a new workflow."
          }
          value={chosen}
          onChange={({ target: { value } }) => choose(value)}
        />
      </DialogForm>
    </Dialog>
  );
}
