import type { DrawnNode } from "@uncaged/workflow/editing";
import { useMutation } from "@tanstack/react-query";
import { Copy, PenLine, Play, SquareArrowOutUpRight, Wrench } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { Editor, useIsNarrow } from "../../editor/editor.tsx";
import { RunDialog } from "../../kinds/steps/runs/run-dialog.tsx";
import { RunFromDialog } from "../../kinds/steps/runs/run-from-dialog.tsx";
import { type Draft, type FlowDocument, paramsOf, startRun } from "../../kinds/steps/runs/start.ts";
import { RenameDialog } from "../../kinds/steps/rename-dialog.tsx";
import { ToolDialog } from "../../kinds/steps/tool-dialog.tsx";
import { WorkflowPanel } from "../../kinds/steps/workflow-panel.tsx";
import { isRecord } from "../../lib/json.ts";
import { RunContext } from "../../thread/run/run-context.tsx";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { useRuns } from "./use-runs.tsx";

type Props = {
  document: EditedDocument;
  /** The workflow's name; null for a new workflow. */
  name: string | null;
  /** A thread to add to the list of runs; null for none. */
  run: string | null;
  notice: ReactNode;
  buttons: ReactNode;
  onSave: () => void;
  /** Shows the workflow that a step runs. Returns false if the step does not run a workflow. */
  onChild: (node: DrawnNode) => boolean;
};

type Open = { what: "run" | "from" | "tool" | "rename"; node: string } | null;

const Filled = ({ children }: { children: ReactNode }) => (
  <div className="min-h-0 flex-1 overflow-y-auto p-3">{children}</div>
);

const valueOf = (document: EditedDocument): FlowDocument => {
  const { value } = document.state();
  return isRecord(value) ? value : {};
};

/** The editor of a step workflow, with its runs. */
export function StepsEditor(props: Props) {
  const { document, name, run: from, notice, buttons, onSave, onChild } = props;
  const draft = (): Draft => ({
    text: document.state().text,
    name: name ?? undefined,
  });
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
  const [open, setOpen] = useState<Open>(null);
  const workflow = valueOf(document);
  const close = () => setOpen(null);
  const show = (what: "run" | "from" | "tool" | "rename", node = "") => setOpen({ what, node });
  const nodeOf = (what: string): string | null => (open?.what === what ? open.node : null);
  /** Tells whether the document can run. If it can't, shows its first problem. */
  const canRun = (): boolean => {
    const { broken } = document.state();
    const problems = document.check();
    const error = problems.find(({ severity }) => severity === "error");
    if (broken) document.say(`Invalid JSON in line ${broken.line}: fix it first.`);
    else if (error) {
      document.say(error.message);
      document.reveal(error.path);
    }
    return !broken && !error;
  };
  const run = () => {
    if (!canRun()) return;
    if (paramsOf(valueOf(document)) === null) {
      runs.setPanel("run");
      start.mutate();
    } else show("run");
  };
  const runFrom = (node: string) => {
    if (canRun()) show("from", node);
  };
  return (
    <RunContext run={runs.run}>
      <Editor
        document={document}
        name={name ?? "workflow"}
        live={runs.live}
        data={runs.data}
        panel={runs.panel}
        onPanel={runs.setPanel}
        onSave={onSave}
        notice={
          <>
            {notice}
            {start.error && (
              <div className="border-b p-2">
                <FailureNotice error={start.error} />
              </div>
            )}
            {runs.tabs}
          </>
        }
        toolbar={
          <>
            <Button
              look="solid"
              icon={<Play />}
              isBusy={start.isPending}
              title="Run the document as it is, saved or not"
              onClick={() => run()}
            >
              Run
            </Button>
            {buttons}
          </>
        }
        panels={[
          ...runs.panels,
          {
            value: "workflow",
            label: "Workflow",
            content: (
              <Filled>
                <WorkflowPanel document={document} isReadOnly={isNarrow} />
              </Filled>
            ),
          },
        ]}
        onOpen={(node) => {
          const isTool = node.type === "Tool" && !isNarrow;
          if (isTool) show("tool", node.id);
          return isTool || (node.type === "Subflow" && onChild(node));
        }}
        nodeActions={(node) => [
          { label: "Run from here…", icon: <Play />, onSelect: () => runFrom(node.id) },
          ...(node.type === "Tool" && !isNarrow
            ? [{ label: "Tool…", icon: <Wrench />, onSelect: () => show("tool", node.id) }]
            : []),
          ...(node.type === "Subflow"
            ? [
                {
                  label: "Open its workflow",
                  icon: <SquareArrowOutUpRight />,
                  onSelect: () => void onChild(node),
                },
              ]
            : []),
          ...(isNarrow
            ? []
            : [{ label: "Rename…", icon: <PenLine />, onSelect: () => show("rename", node.id) }]),
          {
            label: "Copy id",
            icon: <Copy />,
            onSelect: () => void navigator.clipboard.writeText(node.id),
          },
        ]}
      />
      <RunDialog
        document={workflow}
        draft={draft}
        isOpen={open?.what === "run"}
        onClose={close}
        onStarted={started("Run")}
      />
      <RunFromDialog
        document={workflow}
        draft={draft}
        stepID={nodeOf("from")}
        runID={selected}
        onClose={close}
        onStarted={started(`From ${nodeOf("from") ?? ""}`)}
      />
      <ToolDialog document={document} node={nodeOf("tool")} onClose={close} />
      <RenameDialog document={document} node={nodeOf("rename")} onClose={close} />
    </RunContext>
  );
}
