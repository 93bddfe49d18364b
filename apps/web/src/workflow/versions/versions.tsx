import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { VersionRow, Workflow } from "@uncaged/workflow-server/api-types";
import { Diff, Ellipsis, FileCode2, FlaskConical, Play, Undo2 } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { ago, cost, count, counted, moment, share, tokens, useNow } from "../../lib/format.ts";
import { historyQuery, rollbackWorkflow, workflowKeys } from "../../lib/workflows.ts";
import { Button, Copy, useKeptFocus } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { More } from "../../ui/more.tsx";
import { Loaded, Pill } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { FiguresTable, Sparkline, successOf, took } from "./figures.tsx";
import { TryFailures } from "./try-failures.tsx";
import { VersionChanges } from "./version-changes.tsx";
import { VersionCheck } from "./version-check.tsx";
import { VersionField } from "../../ui/version-field.tsx";

const atOnce = 10;

/** The versions of a workflow with their figures, newest first. */
export function Versions({ name }: { name: string }) {
  const query = useQuery(historyQuery(name));
  return (
    <Loaded query={query} lines={8}>
      {(versions) => <VersionList name={name} versions={versions} />}
    </Loaded>
  );
}

const columns =
  "2xl:grid 2xl:grid-cols-[minmax(10rem,1.4fr)_3rem_4rem_5rem_5rem_5rem_4.5rem_7.5rem_auto] 2xl:items-center 2xl:gap-4";

const headings = ["Runs", "Success", "p50", "p95", "Cost", "Tokens"] as const;

function VersionList({ name, versions }: { name: string; versions: readonly VersionRow[] }) {
  const at = versions.findIndex((one) => one.current);
  const current = versions[at] ?? null;
  return (
    <div className="panel flex flex-col [&>button]:m-3">
      <div className={`${columns} hidden border-b px-4 py-2 text-small text-muted`} aria-hidden>
        <span>Version</span>
        {headings.map((heading) => (
          <span key={heading} className="text-right">
            {heading}
          </span>
        ))}
        <span>30 days</span>
        <span className="w-64" />
      </div>
      <More of={versions} atOnce={atOnce} label={earlier}>
        {(shown) => (
          <ol className="divide-y">
            {shown.map((version, index) => (
              <Version
                key={version.hash}
                name={name}
                version={version}
                current={current}
                before={versions[index + 1] ?? null}
                isOlder={index > at}
              />
            ))}
          </ol>
        )}
      </More>
    </div>
  );
}

const earlier = (left: number): string => `Show ${Math.min(atOnce, left)} earlier versions`;

type VersionProps = {
  name: string;
  version: VersionRow;
  /** The current version; null when it is not listed. */
  current: VersionRow | null;
  before: VersionRow | null;
  /** Whether the version is older than the current version, so that a change to it is a rollback. */
  isOlder: boolean;
};

function Version({ name, version, current, before, isOlder }: VersionProps) {
  const { hash, timestamp, threads, newestFailure } = version;
  const now = useNow(30_000);
  const [asking, ask] = useState<"change" | "try" | null>(null);
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const actions = useRef<HTMLSpanElement>(null);
  useKeptFocus(actions);
  const perform = async () => {
    await rollbackWorkflow(name, hash);
    await client.invalidateQueries({ queryKey: workflowKeys.all });
  };
  const action = isOlder ? "Roll back" : "Make it current";
  const compared = version.current ? before : current;
  return (
    <li>
      <article
        className={`flex flex-col gap-2 px-4 py-3 ${version.current ? "bg-accent-soft/40" : ""}`}
        aria-label={`Version ${hash}`}
      >
        <div
          className={`${columns} flex flex-wrap items-center gap-x-4 gap-y-2 max-sm:grid max-sm:grid-cols-3`}
        >
          <span className="flex min-w-0 flex-wrap items-center gap-x-2 max-2xl:basis-full max-sm:col-span-full">
            <h2 className="code font-semibold">{hash.slice(0, 6)}</h2>
            <Copy text={hash} what="the hash" />
            {version.current && <Pill look="current">current</Pill>}
            <span className="text-small text-muted" title={moment(timestamp)}>
              {ago(timestamp, now)}
            </span>
          </span>
          <Figure label="Runs">
            <Link to="/" search={{ workflow: hash }} className="underline 2xl:no-underline">
              {count(threads)}
            </Link>
          </Figure>
          <Figure label="Success">
            <Success version={version} />
          </Figure>
          <Figure label="p50">{took(version.p50Ms)}</Figure>
          <Figure label="p95">{took(version.p95Ms)}</Figure>
          <Figure label="Cost">{cost(version.cost)}</Figure>
          <Figure label="Tokens">{tokens(version.tokens)}</Figure>
          <Sparkline days={version.days} now={now} />
          <span
            ref={actions}
            className="flex justify-end gap-2 max-sm:col-span-full max-sm:justify-start 2xl:w-64"
          >
            {!version.current && (
              <Button small icon={<Undo2 />} onClick={() => ask("change")}>
                {action}
              </Button>
            )}
            <Button
              small
              icon={<Diff />}
              aria-expanded={isOpen}
              disabled={compared === null && version.roles.length === 0}
              onClick={() => setOpen(!isOpen)}
            >
              Diff
            </Button>
            <Menu
              trigger={
                <IconButton icon={<Ellipsis />} label={`More actions for ${hash.slice(0, 6)}`} />
              }
            >
              <MenuItem
                icon={<Play />}
                onClick={() => void navigate({ to: "/", search: { start: `${name}@${hash}` } })}
              >
                Start
              </MenuItem>
              <MenuItem icon={<FlaskConical />} onClick={() => ask("try")}>
                Try on last failures…
              </MenuItem>
              <MenuItem
                icon={<FileCode2 />}
                onClick={() =>
                  void navigate({
                    to: "/workflows/$name",
                    params: { name },
                    search: { view: "source", version: hash },
                  })
                }
              >
                Source
              </MenuItem>
            </Menu>
          </span>
        </div>
        {newestFailure && (
          <p className="flex min-w-0 gap-2 text-small">
            <span className="flex-none text-muted">Failed {ago(newestFailure.at, now)}:</span>
            <Link
              to="/threads/$id"
              params={{ id: newestFailure.threadId }}
              className="max-w-100 flex-none truncate"
            >
              {newestFailure.subject}
            </Link>
            <span className="min-w-0 truncate text-red" title={newestFailure.error}>
              {newestFailure.error}
            </span>
          </p>
        )}
        {isOpen && (
          <div className="flex flex-col gap-4 pt-2">
            {compared && (
              <p className="text-small text-muted">
                Compared with {version.current ? "the version before it" : "the current version"},{" "}
                <code>{compared.hash.slice(0, 6)}</code>.
              </p>
            )}
            <VersionChanges hash={hash} before={compared?.hash ?? null} />
            <FiguresTable title="Role" rows={version.roles} />
            <FiguresTable title="Model" rows={version.models} />
          </div>
        )}
        <Confirm
          title={`${action}?`}
          action={action}
          isOpen={asking === "change"}
          onClose={() => ask(null)}
          perform={perform}
        >
          {current && <Comparison from={current} to={version} />}
          <p>
            {name} will use <code>{hash}</code>, added {moment(timestamp)}. Running threads keep
            their version. No version is deleted.
          </p>
          <VersionCheck name={name} hash={hash} />
        </Confirm>
        <TryFailures name={name} hash={hash} isOpen={asking === "try"} onClose={() => ask(null)} />
      </article>
    </li>
  );
}

const Figure = ({ label, children }: { label: string; children: ReactNode }) => (
  <span className="2xl:text-right">
    <span className="mr-1 text-small text-muted 2xl:sr-only">{label}</span>
    {children}
  </span>
);

/** A success rate under this share is shown in red. */
const poor = 0.8;

function Success({ version }: { version: VersionRow }) {
  const rate = successOf(version);
  const { completed, failed } = version;
  const title = `${count(completed)} completed, ${count(failed)} failed`;
  return (
    <span title={title} className={rate !== null && rate < poor ? "font-semibold text-red" : ""}>
      {share(rate)}
    </span>
  );
}

/** The figures of two versions side by side. */
function Comparison({ from, to }: { from: VersionRow; to: VersionRow }) {
  const row = (name: string, of: (version: VersionRow) => string) => [
    name,
    of(from),
    <span key="after" className="font-semibold">
      {of(to)}
    </span>,
  ];
  return (
    <Table
      headings={["Figure", `Now ${from.hash.slice(0, 6)}`, `After ${to.hash.slice(0, 6)}`]}
      rows={[
        row("Runs", ({ threads }) => counted(threads, "run")),
        row("Success", (version) => share(successOf(version))),
        row("p50", ({ p50Ms }) => took(p50Ms)),
        row("p95", ({ p95Ms }) => took(p95Ms)),
        row("Cost per run", ({ cost: all, threads }) => cost(threads === 0 ? 0 : all / threads)),
      ]}
    />
  );
}

type VersionChoiceProps = { workflow: Workflow; version: string; onChange: (hash: string) => void };

export function VersionChoice({ workflow, version, onChange }: VersionChoiceProps) {
  const { hash, timestamp, history } = workflow;
  const versions = [{ hash, timestamp, current: true }, ...history];
  if (versions.length < 2 && version === hash) return null;
  return (
    <div className="max-w-104">
      <VersionField
        label="Version"
        value={version}
        versions={versions.toSorted((a, b) => b.timestamp - a.timestamp)}
        onChange={onChange}
      />
    </div>
  );
}
