import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { childPathOf, type KnownTool, toolsOf } from "@uncaged/workflow-steps/editing";
import { useState } from "react";
import { readDraft } from "../../editor/document/draft.ts";
import { DrawnDocument } from "../../editor/versions/comparison.tsx";
import type { DocumentKind } from "../../editor/kind.ts";
import { stepsKind } from "../../kinds/steps/kind.ts";
import { readStepsSearch } from "../../lib/search.ts";
import { documentQuery, toolsQuery, workflowsQuery } from "../../lib/workflows.ts";
import { Copy } from "../../ui/button.tsx";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { Editing } from "./editing.tsx";
import { StepsEditor } from "./steps-editor.tsx";

/** The page of the step workflow editor. */
export function StepsPage() {
  const { name = null } = useParams({ strict: false });
  const { run = null } = readStepsSearch(useSearch({ strict: false }));
  useTitle(name ?? "New step workflow");
  const tools = useQuery(toolsQuery);
  if (tools.isPending) return <Skeleton lines={10} />;
  return <StepsEditing key={name} name={name} run={run} tools={toolsOf(tools.data ?? [])} />;
}

type Props = { name: string | null; run: string | null; tools: readonly KnownTool[] };

type Child = { path: string; text: string };

function StepsEditing({ name, run, tools }: Props) {
  const [kind] = useState(() => stepsKind(tools));
  const [child, setChild] = useState<Child | null>(null);
  const navigate = useNavigate();
  const { data: workflows = [] } = useQuery(workflowsQuery);
  const saved = useQuery({ ...documentQuery(name ?? ""), enabled: name !== null });
  const draftKey = `uncaged-steps-${name ?? ""}`;
  /** Opens a step's workflow: a registered workflow in an editor, a workflow within this version as a drawing. */
  const openChild = (path: string): string | null => {
    if (workflows.some((one) => one.name === path)) {
      void navigate({ to: "/editor/steps/$name", params: { name: path } });
      return null;
    }
    const { subflows = {} } = saved.data ?? {};
    const text = Object.hasOwn(subflows, path) ? subflows[path] : undefined;
    if (text === undefined)
      return `${path} is neither a workflow of this console nor a file of a saved version.`;
    setChild({ path, text });
    return null;
  };
  return (
    <>
      <Editing
        kind={kind}
        name={name}
        draftKey={draftKey}
        begin={() => ({
          text: readDraft(draftKey).text ?? kind.emptyText,
          base: null,
          notices: [],
        })}
      >
        {({ document, notice, buttons, save }) => (
          <StepsEditor
            document={document}
            name={name}
            run={run}
            notice={notice}
            buttons={buttons}
            onSave={save}
            onChild={(node) => {
              const path = childPathOf(document.state().value, node.id);
              if (path === null) return false;
              const refused = openChild(path);
              if (refused !== null) document.say(refused);
              return true;
            }}
          />
        )}
      </Editing>
      <ChildDialog kind={kind} child={child} onClose={() => setChild(null)} />
    </>
  );
}

type ChildProps = { kind: DocumentKind; child: Child | null; onClose: () => void };

const ChildDialog = ({ kind, child, onClose }: ChildProps) => (
  <Dialog wide title={child?.path ?? ""} isOpen={child !== null} onClose={onClose}>
    {child && (
      <DialogBody>
        <div className="flex items-center gap-2 text-muted">
          It is a part of the saved version. <Copy text={child.text} what="its JSON" />
        </div>
        <DrawnDocument kind={kind} version={{ label: child.path, text: child.text }} />
      </DialogBody>
    )}
  </Dialog>
);
