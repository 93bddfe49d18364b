import { useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useRef } from "react";
import { workflowsQuery } from "../api/workflows.ts";
import { useKeys } from "../shell/keys.ts";
import { StatusIcon } from "../status/status.tsx";
import { statuses } from "../status/statuses.ts";
import type { ThreadsSearch } from "./search.ts";
import styles from "./filters.module.css";

type Props = { search: ThreadsSearch; onChange: (change: Partial<ThreadsSearch>) => void };

/** What the list is narrowed to: a text, a workflow, statuses. */
export function Filters({ search, onChange }: Props) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => input.current?.focus(),
  });
  return (
    <search className={styles.filters}>
      <div className={styles.search}>
        <Search aria-hidden />
        <input
          ref={input}
          type="search"
          aria-label="Search by id, workflow or role"
          placeholder="Search by id, workflow or role"
          value={search.q ?? ""}
          onChange={({ target }) => onChange({ q: target.value || undefined })}
          onKeyDown={({ key, currentTarget }) => {
            if (key === "Escape") currentTarget.blur();
            if (key === "Enter" || key === "ArrowDown") focusFirst();
          }}
        />
        <kbd aria-hidden>/</kbd>
      </div>
      <WorkflowFilter search={search} onChange={onChange} />
      <StatusFilter search={search} onChange={onChange} />
    </search>
  );
}

/** From the search to what it found. */
const focusFirst = () => document.querySelector<HTMLElement>("[role=row] a")?.focus();

function WorkflowFilter({ search: { workflow }, onChange }: Props) {
  const { data = [] } = useQuery(workflowsQuery);
  const names = data.map(({ name }) => name);
  return (
    <select
      className={styles.workflow}
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
  );
}

function StatusFilter({ search: { status = [] }, onChange }: Props) {
  return (
    <div className={styles.statuses} role="group" aria-label="Status">
      {statuses.map((one) => {
        const isOn = status.includes(one);
        const next = isOn ? status.filter((other) => other !== one) : [...status, one];
        return (
          <button
            key={one}
            type="button"
            className={styles.status}
            aria-pressed={isOn}
            onClick={() => onChange({ status: next.length > 0 ? next : undefined })}
          >
            <StatusIcon status={one} />
            {one}
          </button>
        );
      })}
    </div>
  );
}
