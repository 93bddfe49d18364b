import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { PlanRow, PlanView, ThreadRow } from "@uncaged/workflow-server/api-types";
import { Inbox as InboxIcon } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { AnswerForm } from "../../thread/question/answer-form.tsx";
import { Confirmation } from "../../kinds/plan/confirmation.tsx";
import { Decisions } from "../../kinds/plan/decisions.tsx";
import { ago, count, moment, useNow } from "../../lib/format.ts";
import { type Inbox, useInbox } from "../../lib/inbox.ts";
import { planQuery } from "../../lib/plans.ts";
import { stepsQuery } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Empty, FailureNotice, Loaded, Skeleton } from "../../ui/states.tsx";

/** The inbox: decisions, plans to confirm, and questions. The user can answer all of them on this page. */
export function InboxPage() {
  useTitle("Inbox");
  const inbox = useInbox();
  const list = useRef<HTMLDivElement>(null);
  useFocusOfNext(list, inbox.count);
  return (
    <Page title="Inbox">
      {inbox.error && <FailureNotice error={inbox.error} />}
      {!inbox.isRead && !inbox.error && <Skeleton lines={6} />}
      {inbox.isRead && inbox.count === 0 && (
        <Empty icon={<InboxIcon />} title="Nothing waits for you">
          <p>
            Answer questions of threads, decide about failed steps of plans, and confirm plans here.
          </p>
        </Empty>
      )}
      <div ref={list} className="flex flex-col gap-4 empty:hidden">
        {inbox.count > 0 && <Waiting inbox={inbox} />}
      </div>
    </Page>
  );
}

const atOnce = 20;

function Waiting({ inbox }: { inbox: Inbox }) {
  const { decisions, isMore, names, plans, threads } = inbox;
  const [most, setMost] = useState(atOnce);
  const now = useNow(10_000);
  const more = Math.max(plans.length, threads.length) - most;
  return (
    <>
      <Decisions
        wanted={decisions}
        nameOf={(id) => (
          <Link to="/plans/$id" params={{ id }} className="underline">
            {names.get(id)}
          </Link>
        )}
      />
      {plans.slice(0, most).map((plan) => (
        <ToConfirm key={plan.id} plan={plan} />
      ))}
      {threads.slice(0, most).map((thread) => (
        <Question key={thread.threadId} thread={thread} now={now} />
      ))}
      {more > 0 && (
        <div>
          <Button onClick={() => setMost(most + atOnce)}>Show more ({count(more)} left)</Button>
        </div>
      )}
      {isMore && <p className="text-muted">Answer the items above to see more.</p>}
    </>
  );
}

function ToConfirm({ plan: { id } }: { plan: PlanRow }) {
  const query = useQuery(planQuery(id));
  return (
    <Loaded query={query} lines={5}>
      {(plan) =>
        plan.phase === "awaiting_confirmation" || plan.draft ? (
          <Confirmation plan={plan} about={<AboutPlan plan={plan} />} />
        ) : null
      }
    </Loaded>
  );
}

function AboutPlan({ plan }: { plan: PlanView }) {
  const { name, description, steps } = plan.draft ?? plan;
  return (
    <div className="flex flex-col gap-2">
      <Link to="/plans/$id" params={{ id: plan.id }} className="font-semibold underline">
        {name}
      </Link>
      <p className="text-muted">{description}</p>
      <ol className="list-decimal pl-5">
        {steps.map(({ id, description: task }) => (
          <li key={id} className="wrap-anywhere">
            <code>{id}</code>: {task}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Question({ thread, now }: { thread: ThreadRow; now: number }) {
  const { threadId, workflow, steps, updatedAt } = thread;
  // The question is the last step, so the number of steps identifies the question.
  const { data, error } = useQuery(stepsQuery(threadId, steps, 1));
  const question = data?.steps.find(({ role }) => role === "__wait__");
  return (
    <section
      className="panel overflow-hidden shadow-sm"
      aria-label={`Question of ${workflow}, ${threadId}`}
    >
      <div className="flex flex-col gap-2 px-4 pt-4 pb-3">
        <div className="flex flex-wrap items-baseline justify-between gap-2">
          <h2>
            <Link to="/threads/$id" params={{ id: threadId }} className="underline">
              {workflow}
            </Link>
          </h2>
          <span className="text-small text-muted" title={moment(updatedAt)}>
            asked {ago(updatedAt, now)}
          </span>
        </div>
        {error && <FailureNotice error={error} />}
        {question ? (
          <Prose text={question.content} isMarkdown={question.meta.for === "approval"} />
        ) : (
          !error && <Skeleton lines={2} />
        )}
      </div>
      {question && (
        <AnswerForm key={question.number} thread={thread} question={question} asked={0} />
      )}
    </section>
  );
}

/** Focuses the next item when the focused item is answered and removed. */
function useFocusOfNext(list: RefObject<HTMLElement | null>, waiting: number): void {
  const before = useRef(waiting);
  useEffect(() => {
    const isLess = waiting < before.current;
    before.current = waiting;
    if (!isLess || document.activeElement !== document.body) return;
    const next = list.current?.querySelector<HTMLElement>("a") ?? document.querySelector("main");
    next?.focus({ preventScroll: true });
  }, [list, waiting]);
}
