import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Bundle, Status } from "@uncaged/workflow-server/api-types";
import { Workflow } from "lucide-react";
import { cardsOf, failedAmong, nodeIdOf, type ThreadLog } from "../../lib/thread-log.ts";
import { isLive, newestThreadQuery, stepsQuery } from "../../lib/threads.ts";
import { bundleQuery } from "../../lib/workflows.ts";
import { Empty, Skeleton } from "../../ui/states.tsx";
import { GraphDrawing } from "./graph-drawing.tsx";
import { documentGraph, documentSteps, type GraphNode, roleGraph } from "./graph.ts";
import type { NodeActions } from "./node-menu.tsx";

type Props = {
  hash: string;
  log: ThreadLog;
  status: Status;
  actions: Omit<NodeActions, "failedNumber">;
};

export function GraphView({ hash, log, status, actions }: Props) {
  const { data: bundle, isPending } = useQuery({ ...bundleQuery(hash), retry: false });
  if (isPending) return <Skeleton lines={8} />;
  const { cards } = log;
  const steps = documentSteps(bundle?.descriptor);
  const { nodes, edges } = steps ? documentGraph(steps, cards) : roleGraph(cards);
  // In a waiting thread, the running node waits for the answer. In other threads without a worker, it is lost.
  const halted = status === "waiting" ? "waiting" : "lost";
  const stateOf = ({ state }: GraphNode): GraphNode["state"] =>
    state === "running" && !isLive(status) ? halted : state;
  const graph = { nodes: nodes.map((node) => ({ ...node, state: stateOf(node) })), edges };
  if (graph.nodes.length === 0) {
    return (
      <Empty icon={<Workflow />} title="Nothing to draw yet">
        <p>The graph grows with the steps of the thread.</p>
      </Empty>
    );
  }
  const failed = new Set(status === "failed" ? failedAmong(cards).map(nodeIdOf) : []);
  const failedNumber = ({ id }: GraphNode) => (failed.has(id) ? log.steps.length + 1 : null);
  return (
    <GraphDrawing
      graph={graph}
      label="Graph of the thread"
      actions={{ ...actions, failedNumber }}
    />
  );
}

const mostSteps = 1_000;

/** The graph of a version: the steps of its document, else the order of roles in its newest thread. */
export function VersionGraph({ bundle: { hash, descriptor } }: { bundle: Bundle }) {
  const document = documentSteps(descriptor);
  if (document)
    return <GraphDrawing graph={documentGraph(document, [])} label="Steps of the workflow" />;
  return <NewestThread key={hash} hash={hash} />;
}

function NewestThread({ hash }: { hash: string }) {
  const { data: threads, isPending } = useQuery(newestThreadQuery(hash));
  const id = threads?.[0]?.threadId;
  const page = useQuery({ ...stepsQuery(id ?? "", 1, mostSteps), enabled: id !== undefined });
  if (isPending || page.isLoading) return <Skeleton lines={8} />;
  const graph = roleGraph(cardsOf(page.data?.steps ?? []));
  if (id === undefined || graph.nodes.length === 0) {
    return (
      <Empty icon={<Workflow />} title="Nothing to draw yet">
        <p>
          The code of this workflow chooses the next role. The graph appears after its first thread.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <p className="wrap-anywhere text-muted">
        The order of the roles in the newest thread,{" "}
        <Link to="/threads/$id" params={{ id }} className="mono">
          {id}
        </Link>
      </p>
      <GraphDrawing graph={graph} label="Roles of the workflow" />
    </>
  );
}
