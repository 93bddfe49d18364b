import { useMutation, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { Play, RotateCcw } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import {
  agentGraphKind,
  choicesOf,
  configQuery,
  fewChoices,
} from "../../kinds/graph/agent-graph.ts";
import { Composer } from "../../kinds/graph/composer.tsx";
import { beginGraph, draftKey } from "../../kinds/graph/graph-draft.ts";
import { forkThread, isEnded, startThread } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Editing, type Editing as Edited } from "./editing.tsx";
import { RunsEditor, useRuns } from "./use-runs.tsx";
import { readStored, store } from "../../lib/stored.ts";
import type { Run } from "../../thread/run/use-run.ts";

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
      {(editing) => <GraphEditor editing={editing} name={name} />}
    </Editing>
  );
}

/** Maximum number of steps that a run from a node adds, because graphs may loop. */
const roundsFromNode = 1_000;

/** The number of steps before the last execution of a node; -1 if it has not run. */
const stepsBefore = (steps: readonly NumberedStep[], node: string): number =>
  steps.findLastIndex(({ role, meta }) => (meta.nodeId ?? role) === node);

function GraphEditor({ editing, name }: { editing: Edited; name: string | null }) {
  const { document } = editing;
  const start = useMutation({
    mutationFn: () => startThread({ document: document.state().text, name: name ?? undefined }),
    onSuccess: ({ threadId }) => runs.started(threadId, "Run"),
  });
  const from = useMutation({
    mutationFn: ({ id }: { id: string; title: string }) => {
      runs.setPanel("run");
      const { steps } = run.log;
      const keep = { atStep: stepsBefore(steps, id) };
      const maxRounds = steps.length + roundsFromNode;
      return forkThread(run.threadId ?? "", { document: document.state().text, keep, maxRounds });
    },
    onSuccess: ({ threadId }, { title }) => runs.started(threadId, `From ${title}`),
  });
  const runs = useRuns({
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
  const { run } = runs;
  useActiveRun(name === null, run, (id) => runs.join(id, "Run"));
  return (
    <RunsEditor
      editing={editing}
      runs={runs}
      name={name ?? "graph"}
      error={from.error}
      toolbar={
        <Button
          icon={<Play />}
          title="Show the prompt and the run"
          onClick={() => runs.setPanel("run")}
        >
          Run…
        </Button>
      }
      nodeActions={({ id, title }) =>
        stepsBefore(run.log.steps, id) < 0
          ? []
          : [
              {
                label: "Run from this node",
                icon: <RotateCcw />,
                isDisabled: from.isPending,
                onSelect: () => from.mutate({ id, title }),
              },
            ]
      }
    />
  );
}

/** Storage key of the id of the run in progress, which other programs read. */
const key = "agentflow-run-id";
const threadId = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * Stores the id of the selected run while it has not ended. At first, `onFound` gets the id that another tab or an
 * earlier version has stored. `isUsed` is false for a saved graph.
 */
function useActiveRun(isUsed: boolean, run: Run, onFound: (id: string) => void): void {
  useEffect(() => {
    const found = isUsed ? readStored(key) : null;
    if (found !== null && threadId.test(found)) onFound(found);
  }, []);
  const { threadId: id, status } = run;
  useEffect(() => {
    if (isUsed && id !== null && status !== null) store(key, isEnded(status) ? null : id);
  }, [isUsed, id, status]);
}
