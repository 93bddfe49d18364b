import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { VersionRow } from "@uncaged/workflow-server/api-types";
import { CircleCheck, FileCode2, Play, Undo2 } from "lucide-react";
import { useRef, useState } from "react";
import { rollbackWorkflow, workflowKeys } from "../api/workflows.ts";
import { Button, buttonClass } from "../controls/button.tsx";
import { Confirm } from "../confirm/confirm.tsx";
import { Copy } from "../controls/copy.tsx";
import { useKeptFocus } from "../controls/use-kept-focus.ts";
import { counted } from "../format/amount.ts";
import { ago, moment } from "../format/time.ts";
import { useNow } from "../format/use-now.ts";
import { VersionChanges } from "./version-changes.tsx";
import styles from "./versions.module.css";

type Props = {
  name: string;
  version: VersionRow;
  /** The version that this one came after. */
  before: VersionRow | null;
  /** It is older than the current one: to go there is to roll back. */
  isOlder: boolean;
};

/** One version of a workflow: when, how many threads, what it changed, and the way back to it. */
export function VersionCard({ name, version, before, isOlder }: Props) {
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
  const action = isOlder ? "Roll back to it" : "Make it current";
  return (
    <li className={`${styles.version} ${current ? styles.current : ""}`}>
      <article aria-label={`Version ${hash}`}>
        <header className={styles.header}>
          <h2 className={styles.hash}>{hash}</h2>
          <Copy text={hash} what="the hash" />
          {current && (
            <span className={styles.badge}>
              <CircleCheck aria-hidden /> current
            </span>
          )}
          <span className={styles.when} title={moment(timestamp)}>
            {ago(timestamp, now)}
          </span>
          <Link to="/" search={{ workflow: hash }} className={styles.threads}>
            {counted(threads, "thread")}
          </Link>
          <span ref={actions} className={styles.actions}>
            <Link
              to="/workflows/$name"
              params={{ name }}
              search={{ view: "source", version: hash }}
              className={buttonClass("quiet", true)}
            >
              <FileCode2 aria-hidden />
              Source
            </Link>
            <Link
              to="/"
              search={{ start: `${name}@${hash}` }}
              className={buttonClass("quiet", true)}
            >
              <Play aria-hidden />
              Start
            </Link>
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
            From now on {name} stands for <code>{hash}</code>, added {moment(timestamp)}. Threads
            that run go on with the version that they began with. No version is lost.
          </p>
        </Confirm>
      </article>
    </li>
  );
}
