import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { StatusIcon } from "../../thread/status/status.tsx";
import { count, counted, moment } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import { familyQuery, isLive } from "../../lib/threads.ts";
import { Copy } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Part } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { Nothing, Value, Values } from "../../ui/value.tsx";

export function About({ thread }: { thread: Thread }) {
  const { prompt, params, hash, createdAt, maxRounds, pid, threadId, workflow } = thread;
  const facts: Fact[] = [
    ["Id", <Id key="id" text={threadId} what="the thread's id" />],
    [
      "Workflow",
      <Link key="workflow" to="/workflows/$name" params={{ name: workflow }}>
        {workflow}
      </Link>,
    ],
    ["Version", <Id key="version" text={hash} what="the version" />],
    ["Started", moment(createdAt)],
    ["Max rounds", count(maxRounds)],
    ["Worker", pid === null ? null : `process ${pid}`],
  ];
  return (
    <div className="grid gap-x-8 gap-y-5 lg:grid-cols-2 2xl:grid-cols-4">
      <Part title="Prompt">{prompt ? <Prose text={prompt} /> : <Nothing>No prompt.</Nothing>}</Part>
      {params !== undefined && (
        <Part title="Params">
          {isRecord(params) ? <Values values={params} /> : <Value value={params} />}
        </Part>
      )}
      <Part title="Thread">
        <Facts look="list" facts={facts} />
      </Part>
      <Part title="Family">
        <Family threadId={threadId} />
      </Part>
    </div>
  );
}

const Id = ({ text, what }: { text: string; what: string }) => (
  <span className="inline-flex items-center gap-1">
    <code>{text}</code>
    <Copy text={text} what={what} />
  </span>
);

const askEveryMs = 4_000;

/** The threads that were forked from the same thread. */
function Family({ threadId }: { threadId: string }) {
  const { data: family, error } = useQuery({
    ...familyQuery(threadId),
    refetchInterval: ({ state }) =>
      state.data?.some((one) => isLive(one.status)) === true && askEveryMs,
  });
  if (error) return <FailureNotice error={error} />;
  if (!family) return null;
  if (family.length < 2) return <Nothing>No forks yet. Fork from any row.</Nothing>;
  return (
    <ul className="flex flex-col">
      {family.map(({ threadId: id, status, steps, forkFrom }) => {
        const from = forkFrom ? `, kept ${forkFrom.steps} of …${forkFrom.threadId.slice(-8)}` : "";
        return (
          <li key={id}>
            <Link
              to="/threads/$id"
              params={{ id }}
              aria-current={id === threadId ? "page" : undefined}
              className="group flex items-center gap-2 rounded-md px-2 py-1 text-ink hover:bg-hover hover:no-underline aria-[current]:bg-accent-soft"
            >
              <StatusIcon status={status} />
              <span className="code whitespace-nowrap">…{id.slice(-8)}</span>
              <span className="truncate text-small text-faint group-aria-[current]:text-muted">
                <span className="sr-only">{status}, </span>
                {counted(steps, "step")}
                {from}
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
