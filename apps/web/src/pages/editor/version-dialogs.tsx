import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import type { DocumentKind } from "../../editor/kind.ts";
import { DrawnComparison } from "../../editor/versions/comparison.tsx";
import { ApiError } from "../../lib/request.ts";
import { addWorkflow, documentQuery, historyQuery, workflowKeys } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogBody, DialogForm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { GitCompare } from "lucide-react";
import { Loaded } from "../../ui/states.tsx";
import { VersionField } from "../../ui/version-field.tsx";

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

const conflict = "VERSION_CONFLICT";

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
      if (!(error instanceof ApiError) || error.code !== conflict) return;
      setOther(await client.query({ ...documentQuery(target), staleTime: 0 }));
    },
  });
  const close = () => {
    saved.reset();
    setOther(null);
    onClose();
  };
  const isOwn = target === name;
  const takeOther = ({ text, hash }: Other) => {
    document.replaceAll(text, "Take the saved version");
    document.markSaved(text);
    onSaved(hash);
    close();
  };
  if (other && isOpen) {
    const isConflict = saved.error instanceof ApiError && saved.error.code === conflict;
    const title = isOwn
      ? "Another version was saved meanwhile"
      : `The workflow ${target} already exists`;
    return (
      <Dialog wide title={title} isOpen onClose={close}>
        <DialogForm
          action="Save mine on top"
          work={{ isPending: saved.isPending, error: isConflict ? null : saved.error }}
          onSubmit={() => saved.mutate(other.hash)}
          onClose={close}
        >
          <p>
            Nothing was saved. If you save your version on top, {target} keeps both versions, and
            your version becomes the current one.
          </p>
          <DrawnComparison
            kind={kind}
            before={{ label: `${target} as saved`, text: other.text }}
            after={{ label: "Yours", text: document.state().text }}
          />
          {isOwn && <Button onClick={() => takeOther(other)}>Take the saved version</Button>}
        </DialogForm>
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

type VersionsProps = { kind: DocumentKind; name: string; document: EditedDocument };

/** Compares a version with another version or with the current text, as drawings. */
export function VersionsButton(props: VersionsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        look="quiet"
        icon={<GitCompare />}
        className="max-md:hidden"
        onClick={() => setOpen(true)}
      >
        Versions
      </Button>
      <Dialog
        wide
        title={`Versions of ${props.name}`}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        <DialogBody>
          <Versions {...props} />
        </DialogBody>
      </Dialog>
    </>
  );
}

function Versions({ kind, name, document }: VersionsProps) {
  const history = useQuery(historyQuery(name));
  const [before, setBefore] = useState("");
  const [after, setAfter] = useState("");
  const old = before || (history.data?.[0]?.hash ?? "");
  const saved = useQuery({ ...documentQuery(old), enabled: old !== "", retry: false });
  const other = useQuery({ ...documentQuery(after), enabled: after !== "", retry: false });
  const drawn = (oldText: string, text: string) => (
    <DrawnComparison
      kind={kind}
      before={{ label: old, text: oldText }}
      after={{ label: after || unsaved, text }}
    />
  );
  return (
    <Loaded query={history}>
      {(versions) => (
        <>
          <div className="grid grid-cols-2 gap-3">
            <VersionField label="Version" value={old} versions={versions} onChange={setBefore} />
            <VersionField
              label="Compared with"
              value={after}
              versions={versions}
              none={unsaved}
              onChange={setAfter}
            />
          </div>
          <Loaded query={saved}>
            {({ text: oldText }) =>
              after === "" ? (
                drawn(oldText, document.state().text)
              ) : (
                <Loaded query={other}>{({ text }) => drawn(oldText, text)}</Loaded>
              )
            }
          </Loaded>
        </>
      )}
    </Loaded>
  );
}

const unsaved = "Unsaved changes";
