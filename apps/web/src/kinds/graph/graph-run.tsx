import { runBlocker } from "@uncaged/workflow-graph/document";
import { type ReactNode, useDeferredValue, useMemo } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import type { DocumentPath } from "../../editor/kind.ts";
import { isRecord } from "../../lib/json.ts";
import { Button } from "../../ui/button.tsx";
import { addNode, editPrompt } from "./edits.ts";
import { readDocument, startOf, textOf } from "./graph-document.ts";
import { type Blocked, RunConsole } from "./run-console.tsx";
import type { RunSession } from "./run-session.ts";
import type { Writing } from "./run-view.ts";

type Props = {
  edited: EditedDocument;
  /** The document's name; null before it is saved. */
  name: string | null;
  session: RunSession;
  writing: Writing;
  link: (runId: string) => ReactNode;
};

export function GraphRun({ edited, name, session, writing, link }: Props) {
  const value = useDocumentPart(edited, (state) => state.value);
  const broken = useDocumentPart(edited, (state) => state.broken);
  const later = useDeferredValue(value);
  const blocker = useMemo(() => runBlocker(isRecord(later) ? later : {}), [later]);
  const start = useMemo(() => startOf(readDocument(later)), [later]);
  const blocked: Blocked | null = broken
    ? { message: `Invalid JSON in line ${broken.line}.` }
    : blocker && { ...blocker, action: <Way edited={edited} {...blocker} /> };
  return (
    <RunConsole
      session={session}
      writing={writing}
      prompt={start && textOf(readDocument(value).nodes.get(start.id)?.data.initialInput)}
      onPrompt={(text) => edited.apply(editPrompt(edited.state().value, text))}
      blocked={blocked}
      onRun={() => {
        const { value: graph } = edited.state();
        if (isRecord(graph)) void session.start(graph, name ?? undefined);
      }}
      link={link}
    />
  );
}

type WayProps = { edited: EditedDocument; reason: string; path: DocumentPath };

/** A button that shows or repairs the part of the graph that prevents a run. */
function Way({ edited, reason, path }: WayProps) {
  if (reason === "no_start") {
    const add = () => edited.apply(addNode(edited.state().value, "start", { x: 0, y: 0 }));
    return (
      <Button small onClick={add}>
        Add a Start
      </Button>
    );
  }
  return (
    <Button small onClick={() => edited.reveal(path)}>
      Show
    </Button>
  );
}
