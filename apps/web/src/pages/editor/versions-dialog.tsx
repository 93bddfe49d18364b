import { useQuery } from "@tanstack/react-query";
import { GitCompare } from "lucide-react";
import { useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import type { DocumentKind } from "../../editor/kind.ts";
import { DrawnComparison } from "../../editor/versions/comparison.tsx";
import { moment } from "../../lib/format.ts";
import { documentQuery, historyQuery } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Loaded } from "../../ui/states.tsx";

type Props = { kind: DocumentKind; name: string; document: EditedDocument };

/** Compares a version with another version or with the current text, as drawings. */
export function VersionsButton(props: Props) {
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

function Versions({ kind, name, document }: Props) {
  const history = useQuery(historyQuery(name));
  const [before, setBefore] = useState("");
  const [after, setAfter] = useState("");
  return (
    <Loaded query={history}>
      {(versions) => {
        const old = before || (versions[0]?.hash ?? "");
        const options = versions.map(({ hash, timestamp, current }) => (
          <option key={hash} value={hash}>
            {hash}, {moment(timestamp)}
            {current ? " (current)" : ""}
          </option>
        ));
        return (
          <>
            <div className="grid grid-cols-2 gap-3">
              <SelectField
                label="Version"
                value={old}
                onChange={({ target }) => setBefore(target.value)}
              >
                {options}
              </SelectField>
              <SelectField
                label="Compared with"
                value={after}
                onChange={({ target }) => setAfter(target.value)}
              >
                <option value="">Unsaved changes</option>
                {options}
              </SelectField>
            </div>
            <Drawn kind={kind} before={old} after={after} document={document} />
          </>
        );
      }}
    </Loaded>
  );
}

type DrawnProps = { kind: DocumentKind; before: string; after: string; document: EditedDocument };

function Drawn({ kind, before, after, document }: DrawnProps) {
  const old = useQuery({ ...documentQuery(before), retry: false });
  const now = useQuery({ ...documentQuery(after), enabled: after !== "", retry: false });
  const { text } = document.state();
  return (
    <Loaded query={old}>
      {({ text: oldText }) => {
        const shown = { label: before, text: oldText };
        if (after === "") {
          return (
            <DrawnComparison
              kind={kind}
              before={shown}
              after={{ label: "Unsaved changes", text }}
            />
          );
        }
        return (
          <Loaded query={now}>
            {({ text: newText }) => (
              <DrawnComparison kind={kind} before={shown} after={{ label: after, text: newText }} />
            )}
          </Loaded>
        );
      }}
    </Loaded>
  );
}
