import { useQuery } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { bundleQuery } from "../api/workflows.ts";
import type { ForkPoint } from "../fork/fork.ts";
import { roleOf } from "../log/card.ts";
import type { ThreadLog } from "../log/log.ts";
import { Empty } from "../states/empty.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { documentGraph, documentSteps } from "./document-graph.ts";
import { GraphDrawing } from "./graph-drawing.tsx";
import type { NodeActions } from "./node-menu.tsx";
import { roleGraph } from "./role-graph.ts";

type Props = {
  hash: string;
  log: ThreadLog;
  isRunning: boolean;
  onStep: (number: number) => void;
  onForkPoint: (point: ForkPoint) => void;
};

/** A thread's roles, or the steps of its document, with the live one marked. */
export function GraphView({ hash, log, isRunning, onStep, onForkPoint }: Props) {
  const { data: bundle, isPending } = useQuery({ ...bundleQuery(hash), retry: false });
  if (isPending) return <Skeleton lines={8} />;
  const live = isRunning ? log.open.map(roleOf) : [];
  const hasFailed = log.end?.status === "failed";
  const failed = log.cards
    .filter(({ step, activity }) => !step && (hasFailed || Boolean(activity?.error)))
    .map(roleOf);
  const steps = documentSteps(bundle?.descriptor);
  const graph = steps
    ? documentGraph(steps, log.steps, live, failed)
    : roleGraph(log.steps, live, failed);
  if (graph.nodes.length === 0) {
    return (
      <Empty icon={<Workflow />} title="Nothing to draw yet">
        <p>The graph grows with the steps: who followed whom, and how often.</p>
      </Empty>
    );
  }
  const failedNow = hasFailed ? log.open.map(roleOf) : [];
  const actions: NodeActions = {
    failedNumber: ({ id }) => (failedNow.includes(id) ? log.steps.length + 1 : null),
    onDetails: onStep,
    onRerun: (number) => onForkPoint({ kind: "rerun", number }),
    onFork: (number) => onForkPoint({ kind: "fork", number }),
  };
  return <GraphDrawing graph={graph} label="Graph of the thread" actions={actions} />;
}
