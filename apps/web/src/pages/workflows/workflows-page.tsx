import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { WorkflowRow } from "@uncaged/workflow-server/api-types";
import { Bot, FilePlus2, ListOrdered, Pencil, Play } from "lucide-react";
import { ago, count, moment, useNow } from "../../lib/format.ts";
import { workflowsQuery } from "../../lib/workflows.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { RowLink, RowList } from "../../ui/row-list.tsx";
import { Loaded } from "../../ui/states.tsx";
import { NoWorkflows } from "../../workflow/start/no-workflows.tsx";

export function WorkflowsPage() {
  useTitle("Workflows");
  const query = useQuery(workflowsQuery);
  return (
    <Page
      title="Workflows"
      actions={
        <>
          <NewDocument />
          <ButtonLink to="/add" look="solid" icon={<FilePlus2 />}>
            Add
          </ButtonLink>
        </>
      }
    >
      <Loaded query={query}>
        {(workflows) =>
          workflows.length > 0 ? <WorkflowList workflows={workflows} /> : <NoWorkflows />
        }
      </Loaded>
    </Page>
  );
}

function NewDocument() {
  const navigate = useNavigate();
  return (
    <Menu trigger={<Button icon={<Pencil />}>Draw</Button>}>
      <MenuItem icon={<Bot />} onClick={() => void navigate({ to: "/editor/graph" })}>
        New graph
      </MenuItem>
      <MenuItem icon={<ListOrdered />} onClick={() => void navigate({ to: "/editor/steps" })}>
        New step workflow
      </MenuItem>
    </Menu>
  );
}

const layout =
  "grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-6 max-lg:grid-cols-[minmax(0,1fr)_auto] max-lg:gap-x-4 max-lg:gap-y-2";

function WorkflowList({ workflows }: { workflows: readonly WorkflowRow[] }) {
  const now = useNow(30_000);
  return (
    <RowList
      label="Workflows"
      rows={workflows}
      keyOf={({ name }) => name}
      layout={layout}
      search={{
        label: "Search by name or description",
        textOf: ({ name, description, hash }) => `${name} ${description} ${hash}`,
        fields: "name, description or hash",
      }}
    >
      {({ name, description, hash, timestamp, versions }) => (
        <>
          <div className="min-w-0">
            <RowLink to="/workflows/$name" params={{ name }}>
              {name}
            </RowLink>
            <p className="truncate text-muted max-lg:whitespace-normal">{description}</p>
          </div>
          <Facts
            look="columns"
            className="max-lg:col-span-full max-lg:row-start-2"
            facts={[
              ["Version", <code key="hash">{hash}</code>],
              ["Versions", count(versions)],
              ["Changed", ago(timestamp, now), moment(timestamp)],
            ]}
          />
          <ButtonLink to="/" search={{ start: name }} className="relative" icon={<Play />}>
            Start<span className="sr-only"> {name}</span>
          </ButtonLink>
        </>
      )}
    </RowList>
  );
}
