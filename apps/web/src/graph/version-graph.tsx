import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Bundle } from "@uncaged/workflow-server/api-types";
import { Workflow } from "lucide-react";
import { newestThreadQuery, stepsQuery } from "../api/threads.ts";
import { Empty } from "../states/empty.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { documentGraph, documentSteps } from "./document-graph.ts";
import { GraphDrawing } from "./graph-drawing.tsx";
import styles from "./graph.module.css";
import { roleGraph } from "./role-graph.ts";

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
