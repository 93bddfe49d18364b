import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Bundle } from "@uncaged/workflow-server/api-types";
import { Workflow } from "lucide-react";
import { useMemo } from "react";
import { newestThreadQuery, stepsQuery } from "../../lib/threads.ts";
import { bundleQuery } from "../../lib/workflows.ts";
import { Empty, Skeleton } from "../../ui/states.tsx";
import { GraphDrawing } from "./graph-drawing.tsx";
import { rowsOfSteps, type TraceRow } from "../trace/rows.ts";
import { documentGraph, documentIn } from "./document-graph.ts";
import { traceGraph } from "./graph.ts";

type Props = {
  hash: string;
  rows: readonly TraceRow[];
  selected: string | null;
  onSelect: (row: string) => void;
};

export function GraphView({ hash, rows, selected, onSelect }: Props) {
  const { data: bundle, isPending } = useQuery({ ...bundleQuery(hash), retry: false });
  const document = useMemo(() => documentIn(bundle?.descriptor), [bundle]);
  const graph = useMemo(
    () => (document ? documentGraph(document, rows) : traceGraph(rows)),
    [document, rows],
  );
  if (isPending) return <Skeleton lines={8} />;
  if (graph.nodes.length === 0) {
    return (
      <Empty icon={<Workflow />} title="Nothing to draw yet">
        <p>The graph grows with the steps of the thread.</p>
      </Empty>
    );
  }
  return (
    <GraphDrawing
      fills
      graph={graph}
      label="Graph of the thread"
      selected={selected}
      onSelect={onSelect}
    />
  );
}

const mostSteps = 1_000;

/** The graph of a version: the steps of its document, else the order of roles in its newest thread. */
export function VersionGraph({ bundle: { hash, descriptor } }: { bundle: Bundle }) {
  const document = documentIn(descriptor);
  if (document)
    return <GraphDrawing graph={documentGraph(document)} label="Steps of the workflow" />;
  return <NewestThread key={hash} hash={hash} />;
}

function NewestThread({ hash }: { hash: string }) {
  const { data: threads, isPending } = useQuery(newestThreadQuery(hash));
  const id = threads?.[0]?.threadId;
  const page = useQuery({ ...stepsQuery(id ?? "", 1, mostSteps), enabled: id !== undefined });
  if (isPending || page.isLoading) return <Skeleton lines={8} />;
  const graph = traceGraph(rowsOfSteps(page.data?.steps ?? []));
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
