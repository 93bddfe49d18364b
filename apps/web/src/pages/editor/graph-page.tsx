import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { Play, RotateCcw } from "lucide-react";
import { useRef, useState } from "react";
import { Editor } from "../../editor/editor.tsx";
import { agentGraphKind } from "../../kinds/graph/agent-graph.ts";
import { choicesOf, configQuery, fewChoices } from "../../kinds/graph/choices.ts";
import { Composer } from "../../kinds/graph/composer.tsx";
import { beginGraph, draftKey } from "../../kinds/graph/graph-draft.ts";
import { forkThread, isEnded, startThread } from "../../lib/threads.ts";
import { RunContext } from "../../thread/run/run-context.tsx";
import { Button } from "../../ui/button.tsx";
import { useTitle } from "../../ui/page.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { useActiveRun } from "./active-run.ts";
import { Editing, type Editing as Edited } from "./editing.tsx";
import { useRuns } from "./use-runs.tsx";

/** The editor of agent graphs, with a run console. */
export function GraphPage() {
  const { name = null } = useParams({ strict: false });
  useTitle(name ?? "New graph");
  const choices = useRef(fewChoices);
  const { data: config } = useQuery(configQuery);
  if (config) choices.current = choicesOf(config);
  const [kind] = useState(() => agentGraphKind(() => choices.current));
  return (
    <Editing
      kind={kind}
      name={name}
      draftKey={name === null ? draftKey : `${draftKey}-${name}`}
      begin={async () => ({ ...(await beginGraph()), base: null })}
    >
      {(editing) => <GraphEditor {...editing} name={name} />}
    </Editing>
  );
}

/** Maximum number of steps that a run from a node adds, because graphs may loop. */
const roundsFromNode = 1_000;

/** The number of steps before the last execution of a node; -1 if it has not run. */
const stepsBefore = (steps: readonly NumberedStep[], node: string): number =>
  steps.findLastIndex(({ role, meta }) => (meta.nodeId ?? role) === node);

function GraphEditor({ document, notice, buttons, save, name }: Edited & { name: string | null }) {
  const start = useMutation({
    mutationFn: () => startThread({ document: document.state().text, name: name ?? undefined }),
    onSuccess: ({ threadId }) => started(threadId, "Run"),
  });
  const from = useMutation({
    mutationFn: ({ id }: { id: string; title: string }) => {
      setPanel("run");
      const { steps } = run.log;
      const keep = { atStep: stepsBefore(steps, id) };
      const maxRounds = steps.length + roundsFromNode;
      return forkThread(run.threadId ?? "", { document: document.state().text, keep, maxRounds });
    },
    onSuccess: ({ threadId }, { title }) => started(threadId, `From ${title}`),
  });
  const { run, live, panel, setPanel, panels, data, tabs, join, started } = useRuns({
    ...{ document, hasScope: false, nothing: "Write a prompt and run the graph." },
    isStarting: start.isPending || from.isPending,
    storedAs: name === null ? "agentflow-runs" : `agentflow-runs-${name}`,
    foot: ({ threadId, status }) => (
      <Composer
        edited={document}
        isRunning={threadId !== null && status !== null && !isEnded(status)}
        isStarting={start.isPending}
        error={start.error}
        onRun={() => start.mutate()}
      />
    ),
  });
  useActiveRun(name === null, run, (id) => join(id, "Run"));
  return (
    <RunContext run={run}>
      <Editor
        document={document}
        name={name ?? "graph"}
        live={live}
        data={data}
        notice={
          <>
            {notice}
            {from.error && (
              <div className="border-b p-2">
                <FailureNotice error={from.error} />
              </div>
            )}
            {tabs}
          </>
        }
        toolbar={
          <>
            <Button
              icon={<Play />}
              title="Show the prompt and the run"
              onClick={() => setPanel("run")}
            >
              Run…
            </Button>
            {buttons}
          </>
        }
        onSave={save}
        panels={panels}
        panel={panel}
        onPanel={setPanel}
        nodeActions={({ id, title }) =>
          stepsBefore(run.log.steps, id) >= 0
            ? [
                {
                  label: "Run from this node",
                  icon: <RotateCcw />,
                  isDisabled: from.isPending,
                  onSelect: () => from.mutate({ id, title }),
                },
              ]
            : []
        }
      />
    </RunContext>
  );
}
