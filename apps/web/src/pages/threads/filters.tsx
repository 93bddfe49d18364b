import { useQuery } from "@tanstack/react-query";
import { StatusIcon } from "../../thread/status/status.tsx";
import type { ThreadsSearch } from "../../lib/search.ts";
import { statuses } from "../../lib/threads.ts";
import { workflowsQuery } from "../../lib/workflows.ts";
import { SearchField } from "../../ui/field.tsx";

type Props = { search: ThreadsSearch; onChange: (change: Partial<ThreadsSearch>) => void };

export function Filters({ search: { q = "", workflow, status = [] }, onChange }: Props) {
  const { data = [] } = useQuery(workflowsQuery);
  const names = data.map(({ name }) => name);
  return (
    <search className="flex flex-wrap items-center gap-2">
      <SearchField
        label="Search all threads"
        value={q}
        onChange={(text) => onChange({ q: text || undefined })}
        onLeave={() => document.querySelector<HTMLElement>("[role=row] a")?.focus()}
      />
      <select
        className="h-8 max-w-56 rounded-md border border-line-control bg-surface px-2"
        aria-label="Workflow"
        value={workflow ?? ""}
        onChange={({ target }) => onChange({ workflow: target.value || undefined })}
      >
        <option value="">All workflows</option>
        {workflow && !names.includes(workflow) && <option>{workflow}</option>}
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <div
        className="flex gap-1 overflow-x-auto p-[2px] scrollbar-none"
        role="group"
        aria-label="Status"
      >
        {statuses.map((one) => {
          const isOn = status.includes(one);
          const next = isOn ? status.filter((other) => other !== one) : [...status, one];
          return (
            <button
              key={one}
              type="button"
              className="inline-flex h-7 flex-none cursor-pointer items-center gap-1 rounded-full border bg-surface px-2 text-small text-muted hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-ink [&>svg]:animate-none"
              aria-pressed={isOn}
              onClick={() => onChange({ status: next.length > 0 ? next : undefined })}
            >
              <StatusIcon status={one} />
              {one}
            </button>
          );
        })}
      </div>
    </search>
  );
}
