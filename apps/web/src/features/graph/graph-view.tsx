import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Bundle } from "@uncaged/workflow-server/api-types";
import { Workflow } from "lucide-react";
import { roleOf, type ThreadLog } from "../../lib/thread-log.ts";
import { newestThreadQuery, stepsQuery } from "../../lib/threads.ts";
import { bundleQuery } from "../../lib/workflows.ts";
import { Empty, Skeleton } from "../../ui/states.tsx";
import { GraphDrawing } from "./graph-drawing.tsx";
import styles from "./graph.module.css";
import { documentGraph, documentSteps, type GraphNode, roleGraph } from "./graph.ts";
import type { NodeActions } from "./node-menu.tsx";

type Props = {
  hash: string;
  log: ThreadLog;
  isRunning: boolean;
  actions: Omit<NodeActions, "failedNumber">;
};

/** A thread's roles, or the steps of its document, with the live one marked. */
export function GraphView({ hash, log, isRunning, actions }: Props) {
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
  const failedNumber = ({ id }: GraphNode) =>
    failedNow.includes(id) ? log.steps.length + 1 : null;
  return (
    <GraphDrawing
      graph={graph}
      label="Graph of the thread"
      actions={{ ...actions, failedNumber }}
    />
  );
}

const mostSteps = 1_000;

/** A version as a graph: the steps of its document, or who followed whom in its newest thread. */
export function VersionGraph({ bundle: { hash, descriptor } }: { bundle: Bundle }) {
  const document = documentSteps(descriptor);
  if (document) return <GraphDrawing graph={documentGraph(document, [], [])} label="Its steps" />;
  return <NewestThread key={hash} hash={hash} />;
}

function NewestThread({ hash }: { hash: string }) {
  const { data: threads, isPending } = useQuery(newestThreadQuery(hash));
  const id = threads?.[0]?.threadId;
  const page = useQuery({ ...stepsQuery(id ?? "", 1, mostSteps), enabled: id !== undefined });
  if (isPending || page.isLoading) return <Skeleton lines={8} />;
  const graph = roleGraph(page.data?.steps ?? [], []);
  if (id === undefined || graph.nodes.length === 0) {
    return (
      <Empty icon={<Workflow />} title="Nothing to draw yet">
        <p>Code decides which role comes next. Who follows whom is drawn from its newest thread.</p>
      </Empty>
    );
  }
  return (
    <>
      <p className={styles.from}>
        Who followed whom in its newest thread,{" "}
        <Link to="/threads/$id" params={{ id }} className="mono">
          {id}
        </Link>
      </p>
      <GraphDrawing graph={graph} label="Its roles" />
    </>
  );
}
