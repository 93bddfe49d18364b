import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { WorkflowRow } from "@uncaged/workflow-server/api-types";
import { FilePlus2, Play, Workflow } from "lucide-react";
import { useRef, useState } from "react";
import { ago, count, moment, useNow } from "../../lib/format.ts";
import { useHostEvents } from "../../lib/lists.ts";
import { workflowsQuery } from "../../lib/workflows.ts";
import { buttonClass, Command } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { SearchField } from "../../ui/field.tsx";
import { Page, useListKeys, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import styles from "./workflows-page.module.css";

export function WorkflowsPage() {
  useTitle("Workflows");
  useHostEvents();
  return (
    <Page
      title="Workflows"
      actions={
        <Link to="/add" className={buttonClass("solid")}>
          <FilePlus2 aria-hidden />
          Add
        </Link>
      }
    >
      <List />
    </Page>
  );
}

function List() {
  const { data: workflows, error, refetch } = useQuery(workflowsQuery);
  if (workflows && workflows.length > 0) return <WorkflowList workflows={workflows} />;
  if (workflows) {
    return (
      <Empty icon={<Workflow />} title="No workflow yet">
        <p>A workflow is a name for a bundle. Add a file here, or in a terminal:</p>
        <Command>uncaged-workflow add greet greet.ts</Command>
        <Link to="/add" className={buttonClass("solid")}>
          Add a workflow
        </Link>
      </Empty>
    );
  }
  if (error) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  return <Skeleton lines={6} />;
}

function WorkflowList({ workflows }: { workflows: readonly WorkflowRow[] }) {
  const [text, setText] = useState("");
  const rows = workflows.filter(({ name, description, hash }) =>
    `${name} ${description} ${hash}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  return (
    <>
      <search>
        <SearchField label="Search by name or description" value={text} onChange={setText} />
      </search>
      {rows.length === 0 ? (
        <Empty title="No workflow fits">
          <p>No name, description or hash has this text.</p>
        </Empty>
      ) : (
        <Rows rows={rows} />
      )}
    </>
  );
}

function Rows({ rows }: { rows: readonly WorkflowRow[] }) {
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(30_000);
  useListKeys({ list, target: "a", length: rows.length });
  return (
    <ul ref={list} className="raised">
      {rows.map(({ name, description, hash, timestamp, versions }, index) => (
        <li key={name} className={styles.row} data-index={index}>
          <div className={styles.what}>
            <Link to="/workflows/$name" params={{ name }} className={`stretched ${styles.name}`}>
              {name}
            </Link>
            <p className={styles.description}>{description}</p>
          </div>
          <Facts
            look="row"
            className={styles.facts}
            facts={[
              ["Version", <code key="hash">{hash}</code>],
              ["Versions", count(versions)],
              ["Changed", ago(timestamp, now), moment(timestamp)],
            ]}
          />
          <Link to="/" search={{ start: name }} className={`${buttonClass()} ${styles.start}`}>
            <Play aria-hidden />
            Start<span className="unseen"> {name}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
