import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { Workflow } from "@uncaged/workflow-server/api-types";
import { Ellipsis, FilePlus2, ListFilter, Pencil, Play, Trash2 } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Roles } from "../../workflow/roles/roles.tsx";
import { VersionChoice, Versions } from "../../workflow/versions/versions.tsx";
import type { WorkflowSearch, WorkflowView } from "../../lib/search.ts";
import {
  bundleQuery,
  documentQuery,
  removeWorkflow,
  workflowKeys,
  workflowQuery,
} from "../../lib/workflows.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";

export function WorkflowPage() {
  const { name } = useParams({ from: "/workflows/$name" });
  useTitle(name);
  const query = useQuery(workflowQuery(name));
  const { data: workflow } = query;
  return (
    <Page
      title={name}
      note={workflow && (workflow.descriptor?.description ?? "Its bundle can't be read.")}
      actions={workflow && <WorkflowActions name={name} />}
    >
      <Loaded query={query} lines={8}>
        {(read) => <WorkflowViews workflow={read} />}
      </Loaded>
    </Page>
  );
}

const VersionGraph = lazy(async () => ({
  default: (await import("../../thread/graph/graph-view.tsx")).VersionGraph,
}));
const SourceView = lazy(async () => ({
  default: (await import("../../workflow/source/source-view.tsx")).SourceView,
}));

const tabs = [
  { value: "versions", label: "Versions" },
  { value: "roles", label: "Roles" },
  { value: "graph", label: "Graph" },
  { value: "source", label: "Source" },
] as const;

/** The views of a workflow. Each view except the list of versions shows one version. */
function WorkflowViews({ workflow }: { workflow: Workflow }) {
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
      <div className="flex flex-col gap-3 pt-4">
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
  const query = useQuery(bundleQuery(hash));
  return (
    <Loaded query={query} lines={8}>
      {(bundle) => (
        <Suspense fallback={<Skeleton lines={8} />}>
          {view === "roles" && <Roles descriptor={bundle.descriptor} />}
          {view === "graph" && <VersionGraph bundle={bundle} />}
          {view === "source" && <SourceView bundle={bundle} />}
        </Suspense>
      )}
    </Loaded>
  );
}

function WorkflowActions({ name }: { name: string }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [isRemoving, setRemoving] = useState(false);
  const file = useQuery(bundleQuery(name)).data?.document ?? "";
  const { data: drawn } = useQuery({ ...documentQuery(name), enabled: file.endsWith(".json") });
  const remove = async () => {
    await removeWorkflow(name);
    await navigate({ to: "/workflows" });
    void client.invalidateQueries({ queryKey: workflowKeys.all });
  };
  return (
    <>
      {drawn && (
        <ButtonLink to={`/editor/${drawn.kind}/$name`} params={{ name }} icon={<Pencil />}>
          Edit
        </ButtonLink>
      )}
      <ButtonLink to="/" search={{ workflow: name }} icon={<ListFilter />}>
        Threads
      </ButtonLink>
      <ButtonLink to="/" search={{ start: name }} look="solid" icon={<Play />}>
        Start
      </ButtonLink>
      <Menu trigger={<Button icon={<Ellipsis />} aria-label="More actions" />}>
        <MenuItem
          icon={<FilePlus2 />}
          onClick={() => void navigate({ to: "/add", search: { name } })}
        >
          Add a version…
        </MenuItem>
        <MenuItem icon={<Trash2 />} danger onClick={() => setRemoving(true)}>
          Remove…
        </MenuItem>
      </Menu>
      <Confirm
        title={`Remove ${name}?`}
        action="Remove"
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        perform={remove}
      >
        <p>The name and its list of versions are removed. Its threads and bundles stay.</p>
      </Confirm>
    </>
  );
}
