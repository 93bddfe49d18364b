import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { VersionRow, Workflow } from "@uncaged/workflow-server/api-types";
import { FileCode2, Play, Undo2 } from "lucide-react";
import { useRef, useState } from "react";
import { ago, counted, moment, useNow } from "../../lib/format.ts";
import { historyQuery, rollbackWorkflow, workflowKeys } from "../../lib/workflows.ts";
import { Button, ButtonLink, Copy, useKeptFocus } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Loaded, Pill } from "../../ui/states.tsx";
import { VersionChanges } from "./version-changes.tsx";

const atOnce = 10;

export function Versions({ name }: { name: string }) {
  const query = useQuery(historyQuery(name));
  return (
    <Loaded query={query} lines={8}>
      {(versions) => <VersionList name={name} versions={versions} />}
    </Loaded>
  );
}

function VersionList({ name, versions }: { name: string; versions: readonly VersionRow[] }) {
  const [shown, setShown] = useState(atOnce);
  const current = versions.findIndex((one) => one.current);
  return (
    <>
      <ol className="flex flex-col gap-3">
        {versions.slice(0, shown).map((version, at) => (
          <VersionCard
            key={version.hash}
            name={name}
            version={version}
            before={versions[at + 1] ?? null}
            isOlder={at > current}
          />
        ))}
      </ol>
      {versions.length > shown && (
        <Button onClick={() => setShown(shown + atOnce)}>
          Show {Math.min(atOnce, versions.length - shown)} earlier versions
        </Button>
      )}
    </>
  );
}

type VersionCardProps = {
  name: string;
  version: VersionRow;
  before: VersionRow | null;
  /** Whether the version is older than the current version. The card then offers a rollback. */
  isOlder: boolean;
};

function VersionCard({ name, version, before, isOlder }: VersionCardProps) {
  const { hash, timestamp, current, threads } = version;
  const now = useNow(30_000);
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const actions = useRef<HTMLSpanElement>(null);
  useKeptFocus(actions);
  const perform = async () => {
    await rollbackWorkflow(name, hash);
    await client.invalidateQueries({ queryKey: workflowKeys.all });
  };
  const action = isOlder ? "Roll back" : "Make it current";
  return (
    <li>
      <article
        className={`panel flex flex-col gap-2 px-4 pt-3 pb-4 shadow-sm ${current ? "border-accent" : ""}`}
        aria-label={`Version ${hash}`}
      >
        <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <h2 className="-mr-2 font-mono text-body">{hash}</h2>
          <Copy text={hash} what="the hash" />
          {current && <Pill look="current">current</Pill>}
          <span className="text-muted" title={moment(timestamp)}>
            {ago(timestamp, now)}
          </span>
          <Link to="/" search={{ workflow: hash }}>
            {counted(threads, "thread")}
          </Link>
          <span ref={actions} className="ml-auto flex flex-wrap gap-1">
            <ButtonLink
              to="/workflows/$name"
              params={{ name }}
              search={{ view: "source", version: hash }}
              look="quiet"
              small
              icon={<FileCode2 />}
            >
              Source
            </ButtonLink>
            <ButtonLink
              to="/"
              search={{ start: `${name}@${hash}` }}
              look="quiet"
              small
              icon={<Play />}
            >
              Start
            </ButtonLink>
            {!current && (
              <Button small icon={<Undo2 />} onClick={() => setAsking(true)}>
                {action}
              </Button>
            )}
          </span>
        </header>
        <VersionChanges hash={hash} before={before?.hash ?? null} />
        <Confirm
          title={`${action}?`}
          action={action}
          isOpen={isAsking}
          onClose={() => setAsking(false)}
          perform={perform}
        >
          <p>
            {name} will use <code>{hash}</code>, added {moment(timestamp)}. Running threads keep
            their version. No version is deleted.
          </p>
        </Confirm>
      </article>
    </li>
  );
}

type VersionChoiceProps = { workflow: Workflow; version: string; onChange: (hash: string) => void };

export function VersionChoice({ workflow, version, onChange }: VersionChoiceProps) {
  const { hash, timestamp, history } = workflow;
  const versions = [{ hash, timestamp }, ...history].toSorted((a, b) => b.timestamp - a.timestamp);
  if (versions.length < 2 && version === hash) return null;
  return (
    <div className="max-w-104">
      <SelectField
        label="Version"
        value={version}
        onChange={({ target }) => onChange(target.value)}
      >
        {!versions.some((one) => one.hash === version) && <option>{version}</option>}
        {versions.map((one) => (
          <option key={one.hash} value={one.hash}>
            {one.hash}, {moment(one.timestamp)}
            {one.hash === hash ? " (current)" : ""}
          </option>
        ))}
      </SelectField>
    </div>
  );
}
