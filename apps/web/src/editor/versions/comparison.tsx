import { compare, type Mark } from "@uncaged/workflow/editing";
import { useMemo, useRef } from "react";
import { counted } from "../../lib/format.ts";
import { Actions, type CanvasHandle } from "../canvas/actions.ts";
import { Canvas } from "../canvas/canvas.tsx";
import { type Marks, MarksContext, noMarks } from "../canvas/node-box.tsx";
import { EditedDocument } from "../document/document.ts";
import { EditorContext } from "../document/use-document.ts";
import type { DocumentKind } from "../kind.ts";

type Version = { label: string; text: string };

type Props = { kind: DocumentKind; before: Version; after: Version };

/** Two versions as drawings, with added, removed and changed nodes marked and counted. */
export function DrawnComparison({ kind, before, after }: Props) {
  const old = useMemo(() => new EditedDocument(kind, before.text), [kind, before.text]);
  const now = useMemo(() => new EditedDocument(kind, after.text), [kind, after.text]);
  const marks = useMemo(
    () => compare(kind, old.state().value, now.state().value),
    [kind, old, now],
  );
  const count = (of: ReadonlyMap<string, Mark>, mark: Mark): number =>
    [...of.values()].filter((one) => one === mark).length;
  const parts = [
    [count(marks.after.nodes, "added"), "node", "added"],
    [count(marks.before.nodes, "removed"), "node", "removed"],
    [count(marks.after.nodes, "changed"), "node", "changed"],
    [marks.after.edges.size, "line", "added"],
    [marks.before.edges.size, "line", "removed"],
  ] as const;
  const said = parts.flatMap(([number, noun, what]) =>
    number > 0 ? [`${counted(number, noun)} ${what}`] : [],
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-2">
      <p role="status">{said.length > 0 ? said.join(", ") : "No visible differences."}</p>
      <div className="grid min-h-0 flex-1 grid-cols-2 gap-2 max-md:grid-cols-1">
        <Side label={before.label} document={old} marks={marks.before} />
        <Side label={after.label} document={now} marks={marks.after} />
      </div>
    </div>
  );
}

type DrawnProps = { kind: DocumentKind; version: Version };

/** One version as a read-only drawing. */
export function DrawnDocument({ kind, version: { label, text } }: DrawnProps) {
  const document = useMemo(() => new EditedDocument(kind, text), [kind, text]);
  return <Side label={label} document={document} marks={noMarks} />;
}

type SideProps = { label: string; document: EditedDocument; marks: Marks };

function Side({ label, document, marks }: SideProps) {
  const handle = useRef<CanvasHandle>(null);
  const editor = useMemo(
    () => ({ document, actions: new Actions(document, handle), isReadOnly: true }),
    [document],
  );
  return (
    <section className="flex min-h-60 min-w-0 flex-col" aria-label={label}>
      <h3 className="mb-1 truncate">{label}</h3>
      <div className="flex min-h-0 flex-1 overflow-hidden rounded-md border">
        <EditorContext value={editor}>
          <MarksContext value={marks}>
            <Canvas handle={handle} onOpen={() => {}} />
          </MarksContext>
        </EditorContext>
      </div>
    </section>
  );
}
