import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { WorkflowRow } from "@uncaged/workflow-server/api-types";
import { Bot, FilePlus2, ListOrdered, Pencil, Play } from "lucide-react";
import { useRef, useState } from "react";
import { ago, count, moment, useNow } from "../../lib/format.ts";
import { workflowsQuery } from "../../lib/workflows.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Page, useListKeys, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
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

function WorkflowList({ workflows }: { workflows: readonly WorkflowRow[] }) {
  const [text, setText] = useState("");
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(30_000);
  const rows = workflows.filter(({ name, description, hash }) =>
    `${name} ${description} ${hash}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  useListKeys({ list, target: "a", length: rows.length });
  return (
    <>
      <search>
        <SearchField label="Search by name or description" value={text} onChange={setText} />
      </search>
      {rows.length === 0 ? (
        <Empty title="No matching workflows">
          <p>No name, description or hash contains this text.</p>
        </Empty>
      ) : (
        <ul ref={list} className="panel shadow-sm">
          {rows.map(({ name, description, hash, timestamp, versions }, index) => (
            <li
              key={name}
              className="relative grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-6 border-b px-4 py-3 first:rounded-t-lg last:rounded-b-lg last:border-b-0 focus-within:bg-hover hover:bg-hover max-lg:grid-cols-[minmax(0,1fr)_auto] max-lg:gap-x-4 max-lg:gap-y-2 max-lg:px-3 max-lg:py-3"
              data-index={index}
            >
              <div className="min-w-0">
                <Link
                  to="/workflows/$name"
                  params={{ name }}
                  className="stretched text-body font-semibold wrap-anywhere text-ink"
                >
                  {name}
                </Link>
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
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
