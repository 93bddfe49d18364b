import { Link } from "@tanstack/react-router";
import type { WorkflowRow } from "@uncaged/workflow-server/api-types";
import { Play, Search } from "lucide-react";
import { useRef, useState } from "react";
import { buttonClass } from "../controls/button.tsx";
import { count } from "../format/amount.ts";
import { ago, moment } from "../format/time.ts";
import { useNow } from "../format/use-now.ts";
import { useKeys } from "../shell/keys.ts";
import { Empty } from "../states/empty.tsx";
import filters from "../threads/filters.module.css";
import styles from "./workflow-list.module.css";

/** The workflows, narrowed to those that a text is found in. */
export function WorkflowList({ workflows }: { workflows: readonly WorkflowRow[] }) {
  const [text, setText] = useState("");
  const rows = workflows.filter(({ name, description, hash }) =>
    `${name} ${description} ${hash}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  return (
    <>
      <SearchField text={text} onChange={setText} />
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

function SearchField({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({
    "/": () => input.current?.focus(),
  });
  return (
    <search className={filters.filters}>
      <div className={filters.search}>
        <Search aria-hidden />
        <input
          ref={input}
          type="search"
          aria-label="Search by name or description"
          placeholder="Search by name or description"
          value={text}
          onChange={({ target }) => onChange(target.value)}
          onKeyDown={({ key, currentTarget }) => key === "Escape" && currentTarget.blur()}
        />
        <kbd aria-hidden>/</kbd>
      </div>
    </search>
  );
}

function Rows({ rows }: { rows: readonly WorkflowRow[] }) {
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(30_000);
  const go = (by: number) => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[Math.min(Math.max(at < 0 ? 0 : at + by, 0), links.length - 1)]?.focus();
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
  return (
    <ul ref={list} className={styles.list}>
      {rows.map(({ name, description, hash, timestamp, versions }) => (
        <li key={name} className={styles.row}>
          <div className={styles.what}>
            <Link to="/workflows/$name" params={{ name }} className={styles.name} data-row>
              {name}
            </Link>
            <p className={styles.description}>{description}</p>
          </div>
          <dl className={styles.facts}>
            <div>
              <dt>Version</dt>
              <dd className="mono">{hash}</dd>
            </div>
            <div>
              <dt>Versions</dt>
              <dd>{count(versions)}</dd>
            </div>
            <div>
              <dt>Changed</dt>
              <dd title={moment(timestamp)}>{ago(timestamp, now)}</dd>
            </div>
          </dl>
          <Link to="/" search={{ start: name }} className={`${buttonClass()} ${styles.start}`}>
            <Play aria-hidden />
            Start<span className="unseen"> {name}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
