import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Workflow } from "@uncaged/workflow-server/api-types";
import { lazy, Suspense } from "react";
import { bundleQuery } from "../api/workflows.ts";
import { Tabs } from "../controls/tabs.tsx";
import { Roles } from "../roles/roles.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { VersionChoice } from "../versions/version-choice.tsx";
import { Versions } from "../versions/versions.tsx";
import type { WorkflowSearch, WorkflowView } from "./search.ts";
import styles from "./workflow-views.module.css";

const VersionGraph = lazy(async () => ({
  default: (await import("../graph/version-graph.tsx")).VersionGraph,
}));
const SourceView = lazy(async () => ({
  default: (await import("../source/source-view.tsx")).SourceView,
}));

const tabs = [
  { value: "versions", label: "Versions" },
  { value: "roles", label: "Roles" },
  { value: "graph", label: "Graph" },
  { value: "source", label: "Source" },
] as const;

/** The views of a workflow; all but the list of its versions are of one version. */
export function WorkflowViews({ workflow }: { workflow: Workflow }) {
  const { view = "versions", version = workflow.hash } = useSearch({ from: "/workflows/$name" });
  const navigate = useNavigate({ from: "/workflows/$name" });
  const show = (change: WorkflowSearch) =>
    void navigate({ search: (before) => ({ ...before, ...change }) });
  return (
    <Tabs
      label="Views of the workflow"
      tabs={tabs}
      value={view}
      onChange={(next) => show({ view: next === "versions" ? undefined : (next as WorkflowView) })}
    >
      <div className={styles.view}>
        {view === "versions" ? (
          <Versions name={workflow.name} />
        ) : (
          <>
            <VersionChoice
              workflow={workflow}
              version={version}
              onChange={(hash) => show({ version: hash === workflow.hash ? undefined : hash })}
            />
            <OneVersion hash={version} view={view} />
          </>
        )}
      </div>
    </Tabs>
  );
}

function OneVersion({ hash, view }: { hash: string; view: WorkflowView }) {
  const { data: bundle, error, refetch } = useQuery(bundleQuery(hash));
  if (error) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  if (!bundle) return <Skeleton lines={8} />;
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      {view === "roles" && <Roles descriptor={bundle.descriptor} />}
      {view === "graph" && <VersionGraph bundle={bundle} />}
      {view === "source" && <SourceView bundle={bundle} />}
    </Suspense>
  );
}
