import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { SavedDocument } from "@uncaged/workflow-server/api-types";
import { Save } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { EditedDocument } from "../../editor/document/document.ts";
import { forget, keepDraft, readDraft } from "../../editor/document/draft.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import type { DocumentKind } from "../../editor/kind.ts";
import { ApiError } from "../../lib/request.ts";
import { documentQuery } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { VersionCheck } from "../../workflow/versions/version-check.tsx";
import { SaveDialog, VersionsButton } from "./version-dialogs.tsx";

export type Beginning = {
  text: string;
  /** The text of the version, if it differs. */
  saved?: string;
  /** The hash of the version that was opened; null for a new document. */
  base: string | null;
  notices: readonly string[];
};

/** An edited document with the related parts of the page. */
export type Editing = {
  document: EditedDocument;
  /** The version that the text is based on. */
  base: string | null;
  /** Banners about drafts and other tabs. */
  notice: ReactNode;
  buttons: ReactNode;
  save: () => void;
};

type Props = {
  kind: DocumentKind;
  /** The workflow's name; null for a new workflow. */
  name: string | null;
  /** Storage key of the draft. */
  draftKey: string;
  /** Creates a new document. */
  begin: () => Promise<Beginning> | Beginning;
  children: (editing: Editing) => ReactNode;
};

type Opened = { document: EditedDocument; beginning: Beginning };

export const Editing = (props: Props) => <Opening key={props.draftKey} {...props} />;

function Opening(props: Props) {
  const { kind, name, draftKey, begin } = props;
  const client = useQueryClient();
  const { data: opened, error } = useQuery({
    queryKey: ["editing", draftKey],
    queryFn: async (): Promise<Opened> => {
      const beginning =
        name === null
          ? await begin()
          : beginWith(kind, draftKey, await client.query({ ...documentQuery(name), staleTime: 0 }));
      return { document: new EditedDocument(kind, beginning.text, beginning.saved), beginning };
    },
    // Opening may move a stored draft to another key, and a second document would lose edits.
    staleTime: "static",
    gcTime: 0,
    retry: false,
  });
  if (error) {
    return (
      <Page title={name ?? `New ${kind.noun}`}>
        <FailureNotice error={error} />
      </Page>
    );
  }
  if (!opened) return <Skeleton lines={10} />;
  return <Document {...props} {...opened} />;
}

/** The draft of a workflow, else its current version. */
function beginWith(kind: DocumentKind, draftKey: string, saved: SavedDocument): Beginning {
  const { workflow: name, text, hash } = saved;
  checkOpenable(kind, saved);
  const draft = readDraft(draftKey);
  if (draft.text === null || draft.text === text) return { text, base: hash, notices: [] };
  const base = draft.base ?? hash;
  const since = base === hash ? "" : " A newer version was saved meanwhile.";
  const notice = `These are your unsaved changes to ${name}.${since}`;
  return { text: draft.text, saved: text, base, notices: [notice] };
}

/** Throws an ApiError for another kind of document, and for YAML, because an edit would lose its comments. */
function checkOpenable(kind: DocumentKind, { workflow, file, kind: own }: SavedDocument): void {
  if (own !== kind.name) {
    throw new ApiError(400, {
      code: "OTHER_KIND",
      message: `${workflow} is not a ${kind.noun}`,
      hint: `open it in the other editor: /editor/${own}/${workflow}`,
    });
  }
  if (file.endsWith(".json")) return;
  throw new ApiError(400, {
    code: "NOT_JSON",
    message: `${workflow} is written in YAML (${file}), and the editor edits JSON`,
    hint: "edit the file and add it again",
  });
}

function Document({ kind, name, draftKey, children, document, beginning }: Props & Opened) {
  const [base, setBase] = useState(beginning.base);
  const [notices, setNotices] = useState(beginning.notices);
  const [other, setOther] = useState<string | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [savedHash, setSavedHash] = useState<string | null>(null);
  const isChanged = useDocumentPart(document, ({ text, saved }) => text !== saved);
  const keeping = useRef<ReturnType<typeof keepDraft>>(null);
  useEffect(() => {
    const draft = keepDraft(document, {
      key: draftKey,
      base: () => base,
      onOther: setOther,
      onFailure: (message) =>
        setNotices((before) => [...before.filter((one) => one !== message), message]),
    });
    keeping.current = draft;
    return () => draft.stop();
  }, [document, draftKey, base]);
  useEffect(() => () => document.close(), [document]);
  const save = () => setSaving(true);
  const notice = (
    <>
      {savedHash !== null && name !== null && (
        <div className="border-b px-4 py-1">
          <VersionCheck key={savedHash} name={name} hash={savedHash} />
        </div>
      )}
      {notices.map((text) => (
        <Banner key={text} text={text}>
          {name !== null && text === beginning.notices[0] && (
            <Button small onClick={() => void discard(name)}>
              Discard them
            </Button>
          )}
          <Button small onClick={() => setNotices(notices.filter((one) => one !== text))}>
            Close
          </Button>
        </Banner>
      ))}
      {other !== null && (
        <Banner text="Another tab has changed this draft. The last change wins.">
          <Button
            small
            onClick={() => {
              document.replaceAll(other, "Take the changes of another tab");
              keeping.current?.keep();
              setOther(null);
            }}
          >
            Take its changes
          </Button>
          <Button
            small
            onClick={() => {
              keeping.current?.keep();
              setOther(null);
            }}
          >
            Keep mine
          </Button>
        </Banner>
      )}
    </>
  );
  const client = useQueryClient();
  const discard = async (workflow: string) => {
    const { text, hash } = await client.query(documentQuery(workflow));
    document.replaceAll(text, "Discard the changes");
    document.markSaved(text);
    setBase(hash);
    setNotices([]);
    forget(draftKey);
  };
  const buttons = (
    <>
      {name !== null && <VersionsButton kind={kind} name={name} document={document} />}
      <Button icon={<Save />} title="Save (Ctrl S)" onClick={save}>
        {isChanged || name === null ? "Save…" : "Saved"}
      </Button>
      <SaveDialog
        kind={kind}
        name={name}
        base={base}
        document={document}
        isOpen={isSaving}
        onClose={() => setSaving(false)}
        onSaved={(hash) => {
          setBase(hash);
          setSavedHash(hash);
          setNotices([]);
          if (name !== null) forget(draftKey);
        }}
      />
    </>
  );
  return children({ document, base, notice, buttons, save });
}

const Banner = ({ text, children }: { text: string; children: ReactNode }) => (
  <div
    role="status"
    className="flex flex-wrap items-center gap-2 border-b bg-amber-soft px-4 py-1 text-small text-amber"
  >
    <p className="min-w-0 flex-1 wrap-anywhere">{text}</p>
    {children}
  </div>
);
