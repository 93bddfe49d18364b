import { type DrawnNode, noteType } from "@uncaged/workflow/editing";
import { childPathOf } from "@uncaged/workflow-steps/editing";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Copy as CopyIcon, PenLine, Play, SquareArrowOutUpRight, Wrench } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useIsNarrow } from "../../editor/editor.tsx";
import type { DocumentKind } from "../../editor/kind.ts";
import { DrawnDocument } from "../../editor/versions/comparison.tsx";
import { RenameDialog, ToolDialog, WorkflowPanel } from "../../kinds/steps/node-dialogs.tsx";
import {
  type Draft,
  type FlowDocument,
  paramsOf,
  RunDialog,
  RunFromDialog,
  startRun,
} from "../../kinds/steps/run-dialogs.tsx";
import { isRecord } from "../../lib/json.ts";
import { documentQuery, workflowsQuery } from "../../lib/workflows.ts";
import { Button, Copy } from "../../ui/button.tsx";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";
import type { Editing } from "./editing.tsx";
import { RunsEditor, useRuns } from "./use-runs.tsx";

type Props = {
  kind: DocumentKind;
  editing: Editing;
  /** The workflow's name; null for a new workflow. */
  name: string | null;
  /** A thread to add to the list of runs; null for none. */
  run: string | null;
};

type Open = { what: "run" | "from" | "tool" | "rename"; node: string };

/** A workflow within a version that a step runs. */
type Child = { path: string; text: string };

const valueOf = (document: EditedDocument): FlowDocument => {
  const { value } = document.state();
  return isRecord(value) ? value : {};
};

/** The editor of a step workflow, with its runs. */
export function StepsEditor({ kind, editing, name, run: from }: Props) {
  const { document } = editing;
  const draft = (): Draft => ({ text: document.state().text, name: name ?? undefined });
  const started = (label: string) => (runID: string) => runs.started(runID, label);
  const start = useMutation({
    mutationFn: () => startRun(draft(), {}),
    onSuccess: (runID) => runs.started(runID, "Run"),
  });
  const runs = useRuns({
    ...{ document, hasScope: true, storedAs: `uncaged-steps-${name ?? ""}-runs` },
    isStarting: start.isPending,
    nothing:
      "No run is selected. “Run” starts one with the document as it is; a step's menu starts one from there.",
  });
  const { all, selected, join } = runs;
  useEffect(() => {
    if (from !== null && all.every(({ runID }) => runID !== from))
      join(from, `Thread ${from.slice(-6)}`);
  }, [from]);
  const isNarrow = useIsNarrow();
  const [open, setOpen] = useState<Open | null>(null);
  const [child, setChild] = useState<Child | null>(null);
  const openChild = useOpenChild(document, name, setChild);
  const close = () => setOpen(null);
  const show = (what: Open["what"], node = "") => setOpen({ what, node });
  const nodeOf = (what: Open["what"]): string | null => (open?.what === what ? open.node : null);
  const run = () => {
    if (!canRun(document)) return;
    if (paramsOf(valueOf(document)) !== null) return show("run");
    runs.setPanel("run");
    start.mutate();
  };
  const dialog = { document: valueOf(document), draft, onClose: close };
  return (
    <RunsEditor
      editing={editing}
      runs={runs}
      name={name ?? "workflow"}
      error={start.error}
      toolbar={
        <Button
          look="solid"
          icon={<Play />}
          isBusy={start.isPending}
          title="Run the document as it is, saved or not"
          onClick={run}
        >
          Run
        </Button>
      }
      panels={[
        {
          value: "workflow",
          label: "Workflow",
          content: (
            <div className="min-h-0 flex-1 overflow-y-auto p-3">
              <WorkflowPanel />
            </div>
          ),
        },
      ]}
      onOpen={(node) => {
        const isTool = node.type === "Tool" && !isNarrow;
        if (isTool) show("tool", node.id);
        return isTool || (node.type === "Subflow" && openChild(node));
      }}
      nodeActions={(node) => {
        const { id, type } = node;
        if (type === noteType) return [];
        const action = (label: string, icon: ReactNode, onSelect: () => void) => ({
          ...{ label, icon, onSelect },
        });
        const actions = [
          action("Run from here…", <Play />, () => canRun(document) && show("from", id)),
          !isNarrow && type === "Tool" && action("Tool…", <Wrench />, () => show("tool", id)),
          type === "Subflow" &&
            action("Open its workflow", <SquareArrowOutUpRight />, () => openChild(node)),
          !isNarrow && action("Rename…", <PenLine />, () => show("rename", id)),
          action("Copy id", <CopyIcon />, () => void navigator.clipboard.writeText(id)),
        ];
        return actions.filter((one) => one !== false);
      }}
    >
      <RunDialog {...dialog} isOpen={open?.what === "run"} onStarted={started("Run")} />
      <RunFromDialog
        {...dialog}
        stepID={nodeOf("from")}
        runID={selected}
        onStarted={started(`From ${nodeOf("from") ?? ""}`)}
      />
      <ToolDialog document={document} node={nodeOf("tool")} onClose={close} />
      <RenameDialog document={document} node={nodeOf("rename")} onClose={close} />
      <Dialog wide title={child?.path ?? ""} isOpen={child !== null} onClose={() => setChild(null)}>
        {child && (
          <DialogBody>
            <div className="flex items-center gap-2 text-muted">
              It is a part of the saved version. <Copy text={child.text} what="its JSON" />
            </div>
            <DrawnDocument kind={kind} version={{ label: child.path, text: child.text }} />
          </DialogBody>
        )}
      </Dialog>
    </RunsEditor>
  );
}

/** Tells whether a document can run. If it can't, shows its first problem. */
function canRun(document: EditedDocument): boolean {
  const { broken } = document.state();
  const error = document.check().find(({ severity }) => severity === "error");
  if (broken) document.say(`Invalid JSON in line ${broken.line}: fix it first.`);
  else if (error) {
    document.say(error.message);
    document.reveal(error.path);
  }
  return !broken && !error;
}

/**
 * Returns a function that opens the workflow of a step: a registered workflow in an editor, a workflow within this
 * version as a drawing. It returns false if the step does not run a workflow.
 */
function useOpenChild(
  document: EditedDocument,
  name: string | null,
  onChild: (child: Child) => void,
): (node: DrawnNode) => boolean {
  const navigate = useNavigate();
  const { data: workflows = [] } = useQuery(workflowsQuery);
  const { data: saved } = useQuery({ ...documentQuery(name ?? ""), enabled: name !== null });
  return ({ id }) => {
    const path = childPathOf(document.state().value, id);
    if (path === null) return false;
    const { subflows = {} } = saved ?? {};
    const text = Object.hasOwn(subflows, path) ? subflows[path] : undefined;
    if (workflows.some((one) => one.name === path))
      void navigate({ to: "/editor/steps/$name", params: { name: path } });
    else if (text !== undefined) onChild({ path, text });
    else
      document.say(`${path} is neither a workflow of this console nor a file of a saved version.`);
    return true;
  };
}
