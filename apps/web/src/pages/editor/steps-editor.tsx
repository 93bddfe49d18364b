import { useMutation } from "@tanstack/react-query";
import { Copy, PenLine, Play, SquareArrowOutUpRight, Wrench } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { Editor, useIsNarrow } from "../../editor/editor.tsx";
import type { DrawnNode } from "../../editor/kind.ts";
import { RunDialog } from "../../kinds/steps/runs/run-dialog.tsx";
import { RunFromDialog } from "../../kinds/steps/runs/run-from-dialog.tsx";
import { SessionBar } from "../../kinds/steps/runs/session-bar.tsx";
import { useSessions, withoutSession, withSession } from "../../kinds/steps/runs/sessions.ts";
import { type FlowDocument, paramsOf, startRun } from "../../kinds/steps/runs/start.ts";
import { RenameDialog } from "../../kinds/steps/rename-dialog.tsx";
import { ToolDialog } from "../../kinds/steps/tool-dialog.tsx";
import { WorkflowPanel } from "../../kinds/steps/workflow-panel.tsx";
import { isRecord } from "../../lib/json.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { RunEvents, RunPanel, useSelectedRun } from "./steps-run.tsx";

type Props = {
  document: EditedDocument;
  /** The workflow's name; null for a new workflow. */
  name: string | null;
  /** The thread that the user came from, which joins the list of runs; null for none. */
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
  const { all, selected, set } = useSessions(`uncaged-steps-${name ?? ""}-runs`);
  useEffect(() => {
    if (from === null) return;
    const session = { runID: from, label: `Thread ${from.slice(-6)}`, startedAt: Date.now() };
    const isThere = ({ runID }: { runID: string }) => runID === from;
    set((before) => (before.all.some(isThere) ? before : withSession(before, session)));
  }, [from, set]);
  const isNarrow = useIsNarrow();
  const { log, live } = useSelectedRun(selected);
  const [panel, setPanel] = useState("node");
  const [open, setOpen] = useState<Open>(null);
  const workflow = valueOf(document);
  const close = () => setOpen(null);
  const show = (what: "run" | "from" | "tool" | "rename", node = "") => setOpen({ what, node });
  const nodeOf = (what: string): string | null => (open?.what === what ? open.node : null);
  const started = (label: string) => (runID: string) => {
    set((before) => withSession(before, { runID, label, startedAt: Date.now() }));
    setPanel("run");
  };
  const start = useMutation({
    mutationFn: () => startRun(valueOf(document), {}),
    onSuccess: ({ runID }) => started("Run")(runID),
  });
  /** Whether the document can run. Otherwise shows the first problem. */
  const canRun = async (): Promise<boolean> => {
    const { broken } = document.state();
    const problems = await document.check();
    const error = problems.find(({ severity }) => severity === "error");
    if (broken) document.say(`Invalid JSON in line ${broken.line}: fix it first.`);
    else if (error) {
      document.say(error.message);
      document.reveal(error.path);
    }
    return !broken && !error;
  };
  const run = async () => {
    if (!(await canRun())) return;
    if (paramsOf(valueOf(document)) === null) start.mutate();
    else show("run");
  };
  const runFrom = async (node: string) => {
    if (await canRun()) show("from", node);
  };
  return (
    <>
      <Editor
        document={document}
        name={name ?? "workflow"}
        live={live}
        panel={panel}
        onPanel={setPanel}
        onSave={onSave}
        notice={
          <>
            {notice}
            {start.error && (
              <div className="border-b p-2">
                <FailureNotice error={start.error} />
              </div>
            )}
            {all.length > 0 && (
              <div className="border-b bg-surface px-3 py-1">
                <SessionBar
                  sessions={all}
                  selected={selected}
                  status={log.status}
                  onSelect={(runID) => {
                    set((before) => ({ ...before, selected: runID }));
                    setPanel("run");
                  }}
                  onForget={(runID) => set((before) => withoutSession(before, runID))}
                />
              </div>
            )}
          </>
        }
        toolbar={
          <>
            <Button
              look="solid"
              icon={<Play />}
              isBusy={start.isPending}
              title="Run the document as it is, saved or not"
              onClick={() => void run()}
            >
              Run
            </Button>
            {buttons}
          </>
        }
        panels={[
          {
            value: "run",
            label: "Run",
            content: (
              <Filled>
                <RunPanel runID={selected} log={log} />
              </Filled>
            ),
          },
          {
            value: "events",
            label: "Events",
            content: (
              <Filled>
                <RunEvents
                  runID={selected}
                  onStep={(id) => {
                    const { nodes } = document.state().drawing;
                    const node = nodes.find((one) => one.id === id);
                    if (node) document.reveal(node.path);
                  }}
                />
              </Filled>
            ),
          },
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
          { label: "Run from here…", icon: <Play />, onSelect: () => void runFrom(node.id) },
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
        isOpen={open?.what === "run"}
        onClose={close}
        onStarted={started("Run")}
      />
      <RunFromDialog
        document={workflow}
        stepID={nodeOf("from")}
        runID={selected}
        onClose={close}
        onStarted={started(`From ${nodeOf("from") ?? ""}`)}
      />
      <ToolDialog document={document} node={nodeOf("tool")} onClose={close} />
      <RenameDialog document={document} node={nodeOf("rename")} onClose={close} />
    </>
  );
}
