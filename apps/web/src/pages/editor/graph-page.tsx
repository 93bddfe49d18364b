import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Play, RotateCcw } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Editor } from "../../editor/editor.tsx";
import { agentGraphKind } from "../../kinds/graph/agent-graph.ts";
import { choicesOf, configQuery, fewChoices } from "../../kinds/graph/choices.ts";
import { beginGraph, draftKey } from "../../kinds/graph/graph-draft.ts";
import { GraphRun } from "../../kinds/graph/graph-run.tsx";
import { committedNodes, liveNodes, writingOf } from "../../kinds/graph/live.ts";
import { useRun } from "../../kinds/graph/run-console.tsx";
import { isOpen, RunSession } from "../../kinds/graph/run-session.ts";
import { useNow } from "../../lib/format.ts";
import { useThreadLog } from "../../lib/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Editing, type Editing as Edited } from "./editing.tsx";

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

function GraphEditor({ document, notice, buttons, save, name }: Edited & { name: string | null }) {
  const [session] = useState(() => new RunSession());
  useEffect(() => {
    session.recover();
    return () => session.close();
  }, [session]);
  const [panel, setPanel] = useState("node");
  const { run, busy } = useRun(session);
  const isActive = run?.status === "running" || busy === "starting";
  useEffect(() => {
    if (busy !== null) setPanel("run");
  }, [busy]);
  // The id of another program's run is not a thread id.
  const { cards } = useThreadLog(run && threadId.test(run.runId) ? run.runId : null);
  const now = useNow(1_000, isActive);
  const asking = run?.asking?.nodeId ?? null;
  const live = useMemo(() => liveNodes(cards, asking, now), [cards, asking, now]);
  const content = (
    <GraphRun
      edited={document}
      name={name}
      session={session}
      writing={writingOf(cards)}
      link={(id) => (
        <Link to="/threads/$id" params={{ id }} className="text-small">
          Thread
        </Link>
      )}
    />
  );
  return (
    <Editor
      document={document}
      name={name ?? "graph"}
      live={live}
      notice={notice}
      toolbar={
        <>
          <Button icon={<Play />} title="Show the run's console" onClick={() => setPanel("run")}>
            Run…
          </Button>
          {buttons}
        </>
      }
      onSave={save}
      panels={[{ value: "run", label: "Run", content }]}
      panel={panel}
      onPanel={setPanel}
      nodeActions={({ id }) =>
        run !== null && committedNodes(cards).has(id)
          ? [
              {
                label: "Run from this node",
                icon: <RotateCcw />,
                isDisabled: isOpen(run) || busy !== null,
                onSelect: () => void session.retry(id),
              },
            ]
          : []
      }
    />
  );
}

const threadId = /^[0-9A-HJKMNP-TV-Z]{26}$/;
