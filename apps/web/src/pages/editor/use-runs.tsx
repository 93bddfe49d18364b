import { LoaderCircle } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { Editor, type EditorProps } from "../../editor/editor.tsx";
import type { Panel } from "../../editor/inspector.tsx";
import type { DataOf } from "../../editor/use-node-data.ts";
import { useNow } from "../../lib/format.ts";
import { isLive } from "../../lib/threads.ts";
import { EventsView } from "../../thread/events/events-view.tsx";
import { runsOf } from "../../thread/run/data.ts";
import { NodeData } from "../../thread/run/node-data.tsx";
import { RunPanel } from "../../thread/run/run-panel.tsx";
import { RunTabs, useSessions, withoutSession, withSession } from "../../thread/run/run-tabs.tsx";
import { RunContext } from "../../thread/run/thread-context.tsx";
import { type Run, useRun } from "../../thread/run/use-run.ts";
import { FailureNotice } from "../../ui/states.tsx";
import type { Editing } from "./editing.tsx";
import { liveNodes } from "./live.ts";

type Given = {
  document: EditedDocument;
  /** Storage key of the list of runs. */
  storedAs: string;
  /** Whether a node's fields can refer to the values at its start. */
  hasScope: boolean;
  /** The part of the panel below the selected run. */
  foot?: (run: Run) => ReactNode;
  /** Shown in the panel while no run is selected. */
  nothing: string;
  /** Whether a run is starting, which may take seconds for a document that is not built yet. */
  isStarting: boolean;
};

/** The runs of an editor's document: their tabs, the panels of the selected run, and its data in the drawing. */
export function useRuns(given: Given) {
  const { document, storedAs, hasScope, foot, nothing, isStarting } = given;
  const { all, selected, set } = useSessions(storedAs);
  const run = useRun(selected);
  const { log, rows, status } = run;
  const [panel, setPanel] = useState("node");
  const [chosen, choose] = useState<{ run: string | null; row: string | null }>();
  const row = chosen?.run === selected ? (chosen?.row ?? null) : null;
  const onRow = (id: string | null) => choose({ run: selected, row: id });
  const now = useNow(1_000, status !== null && isLive(status));
  const live = useMemo(
    () => liveNodes(rows, status, Math.max(now, log.lastAt)),
    [rows, status, now, log],
  );
  const join = (runID: string, label: string) =>
    set((before) => withSession(before, { runID, label, startedAt: Date.now() }));
  const started = (runID: string, label: string) => {
    join(runID, label);
    setPanel("run");
  };
  const panels: Panel[] = [
    {
      value: "run",
      label: "Run",
      isWide: true,
      content: (
        // A phone scrolls the whole panel.
        <div className="flex min-h-0 flex-1 flex-col max-md:block max-md:overflow-y-auto">
          {isStarting ? (
            <p role="status" className="flex flex-1 items-start gap-2 p-3 text-muted">
              <LoaderCircle className="mt-[2px] text-blue" /> Starting the run…
            </p>
          ) : selected === null ? (
            <p className="flex-1 p-3 text-muted">{nothing}</p>
          ) : (
            <RunPanel run={run} row={row} onRow={onRow} onStarted={started} />
          )}
          {foot?.(run)}
        </div>
      ),
    },
    {
      value: "events",
      label: "Events",
      isWide: true,
      content:
        selected === null ? (
          <p className="p-3 text-muted">{nothing}</p>
        ) : (
          <EventsView
            key={selected}
            threadId={selected}
            onPlace={({ stepID }) => {
              const id = stepID?.split("/", 1)[0];
              const found = document.state().drawing.nodes.find((one) => one.id === id);
              if (found) document.reveal(found.path);
            }}
          />
        ),
    },
  ];
  const data: DataOf = (node, pick) =>
    runsOf(rows, node.id).length === 0 ? null : (
      <NodeData
        key={`${selected} ${node.id}`}
        run={run}
        node={node.id}
        title={node.title}
        pick={(part, path) => pick({ node: node.id, part, path })}
        hasScope={hasScope}
        onRow={(id) => {
          onRow(id);
          setPanel("run");
        }}
      />
    );
  const tabs = all.length > 0 && (
    <div className="border-b bg-surface px-3 py-1">
      <RunTabs
        sessions={all}
        selected={selected}
        status={status}
        onSelect={(runID) => {
          set((before) => ({ ...before, selected: runID }));
          setPanel("run");
        }}
        onForget={(runID) => set((before) => withoutSession(before, runID))}
      />
    </div>
  );
  return { ...{ all, selected, run, live, panel, setPanel, panels, data, tabs }, join, started };
}

type RunsEditorProps = Pick<
  EditorProps,
  "name" | "onOpen" | "nodeActions" | "panels" | "toolbar"
> & {
  editing: Editing;
  runs: ReturnType<typeof useRuns>;
  /** The failure of the last start. */
  error: Error | null;
  children?: ReactNode;
};

/** The editor of a document with its runs. */
export function RunsEditor({ editing, runs, error, children, ...rest }: RunsEditorProps) {
  const { document, notice, buttons, save } = editing;
  return (
    <RunContext run={runs.run}>
      <Editor
        {...rest}
        document={document}
        live={runs.live}
        data={runs.data}
        panel={runs.panel}
        onPanel={runs.setPanel}
        panels={[...runs.panels, ...(rest.panels ?? [])]}
        onSave={save}
        notice={
          <>
            {notice}
            {error && (
              <div className="border-b p-2">
                <FailureNotice error={error} />
              </div>
            )}
            {runs.tabs}
          </>
        }
        toolbar={
          <>
            {rest.toolbar}
            {buttons}
          </>
        }
      />
      {children}
    </RunContext>
  );
}
