import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Ledger, Thread } from "@uncaged/workflow-server/api-types";
import { ledgerQuery } from "../api/threads.ts";
import { FamilyTree } from "../family/family-tree.tsx";
import { cost, count, tokens } from "../format/amount.ts";
import { roleName } from "../format/role.ts";
import { moment } from "../format/time.ts";
import { Prose } from "../value/prose.tsx";
import { Nothing } from "../value/value.tsx";
import styles from "./about.module.css";

/** What a thread is: what it was told, its version, what it spent, and its family. */
export function About({ thread }: { thread: Thread }) {
  const { prompt, hash, createdAt, maxRounds, pid, threadId, workflow } = thread;
  const { data: ledger } = useQuery(ledgerQuery(threadId));
  return (
    <div className={styles.about}>
      <section>
        <h2>Prompt</h2>
        {prompt ? <Prose text={prompt} /> : <Nothing>None was given.</Nothing>}
      </section>
      <section>
        <h2>Thread</h2>
        <dl className={styles.facts}>
          <dt>Workflow</dt>
          <dd>
            <Link to="/workflows/$name" params={{ name: workflow }}>
              {workflow}
            </Link>
          </dd>
          <dt>Version</dt>
          <dd className="mono">{hash}</dd>
          <dt>Started</dt>
          <dd>{moment(createdAt)}</dd>
          <dt>Max rounds</dt>
          <dd>{count(maxRounds)}</dd>
          {pid !== null && (
            <>
              <dt>Worker</dt>
              <dd>process {pid}</dd>
            </>
          )}
        </dl>
      </section>
      <Spending ledger={ledger} />
      <section>
        <h2>Family</h2>
        <FamilyTree threadId={threadId} />
      </section>
    </div>
  );
}

function Spending({ ledger }: { ledger: Ledger | undefined }) {
  const roles = Object.entries(ledger?.roles ?? {}).filter(([, { tokens: used }]) => used > 0);
  if (!ledger || roles.length === 0) return null;
  return (
    <section>
      <h2>Spent by role</h2>
      <table className={styles.spent}>
        <thead>
          <tr>
            <th scope="col">Role</th>
            <th scope="col">Tokens</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {roles.map(([role, tally]) => (
            <tr key={role}>
              <th scope="row">{roleName(role)}</th>
              <td>{tokens(tally.tokens)}</td>
              <td>{cost(tally.cost)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">In all</th>
            <td>{tokens(ledger.total.tokens)}</td>
            <td>{cost(ledger.total.cost)}</td>
          </tr>
        </tfoot>
      </table>
      {ledger.saved.tokens > 0 && (
        <p className={styles.saved}>
          {tokens(ledger.saved.tokens)} tokens ({cost(ledger.saved.cost)}) were saved: a fork
          brought those steps along.
        </p>
      )}
    </section>
  );
}
