import { useQuery } from "@tanstack/react-query";
import type { Bundle } from "@uncaged/workflow-server/api-types";
import { Workflow } from "lucide-react";
import { useMemo } from "react";
import { bundleQuery } from "../../lib/workflows.ts";
import { Empty, Skeleton } from "../../ui/states.tsx";
import { GraphDrawing } from "./graph-drawing.tsx";
import type { TraceRow } from "../trace/rows.ts";
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

/** The graph of a version: the steps of its document. Code chooses its next role while it runs. */
export function VersionGraph({ bundle: { descriptor } }: { bundle: Bundle }) {
  const document = documentIn(descriptor);
  if (document)
    return <GraphDrawing graph={documentGraph(document)} label="Steps of the workflow" />;
  return (
    <Empty icon={<Workflow />} title="Nothing to draw">
      <p>The code of this workflow chooses the next role. Each of its threads has a graph.</p>
    </Empty>
  );
}
