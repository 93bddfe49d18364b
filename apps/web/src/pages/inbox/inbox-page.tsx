import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeft, Bell, BellOff, Inbox as InboxIcon } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { PlanConfirmation } from "../../kinds/plan/confirmation.tsx";
import { StepDecision } from "../../kinds/plan/decisions.tsx";
import { ago, moment, useNow } from "../../lib/format.ts";
import { type InboxItem, useInbox } from "../../lib/inbox.ts";
import { useNoticeChoice } from "../../lib/notices.ts";
import { planQuery } from "../../lib/plans.ts";
import { stepsQuery } from "../../lib/threads.ts";
import { Question } from "../../thread/question/question.tsx";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Page, useKeys, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Loaded, Skeleton } from "../../ui/states.tsx";

/** Questions, plans to confirm and failed steps of plans, each with the form that answers it. */
export function InboxPage() {
  useTitle("Inbox");
  const { items: listed, isMore, isRead, error } = useInbox();
  // The list may contain an answered item until the server's event arrives or an earlier read ends.
  const [sent, setSent] = useState<readonly string[]>([]);
  const items = listed.filter(({ key }) => !sent.includes(key));
  const { item: opened } = useSearch({ from: "/inbox" });
  const navigate = useNavigate({ from: "/inbox" });
  const [first, setFirst] = useState<string | null>(null);
  const top = items[0]?.key ?? null;
  // A newer item must not replace the shown item.
  useEffect(() => {
    if (first === null) setFirst(top);
  }, [first, top]);
  const chosen = opened ?? first ?? top;
  const item = useLast(items.find(({ key }) => key === chosen) ?? null, chosen);
  const isOver = item !== null && !items.includes(item);
  const list = useRef<HTMLOListElement>(null);
  const pane = useRef<HTMLDivElement>(null);

  const focusRow = (key: string | undefined) =>
    requestAnimationFrame(() => {
      const row = list.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key ?? "")}"]`);
      // A phone shows either the list or an item.
      const isShown = row?.checkVisibility() === true;
      (isShown ? row : document.querySelector<HTMLElement>("main"))?.focus();
    });
  const show = (next: InboxItem | undefined) => {
    setFirst(next?.key ?? null);
    void navigate({ search: { item: next?.key }, replace: true });
    focusRow(next?.key);
  };
  const answered = ({ key }: InboxItem) => {
    setSent((before) => [...before, key]);
    show(next);
  };
  const at = items.findIndex(({ key }) => key === chosen);
  const move = (by: number) => {
    if (items.length > 0) show(items[Math.min(Math.max(at + by, 0), items.length - 1)]);
  };
  const focusChoice = (name: "approve" | "reject") => {
    const choice = pane.current?.querySelector<HTMLElement>(`[data-choice="${name}"]`);
    const other = pane.current?.querySelector<HTMLElement>("textarea, input, select, form button");
    const target = choice ?? other;
    target?.scrollIntoView({ block: "nearest" });
    target?.focus();
  };
  useKeys({
    j: () => move(opened === undefined && !list.current?.contains(document.activeElement) ? 0 : 1),
    k: () => move(-1),
    a: () => focusChoice("approve"),
    r: () => focusChoice("reject"),
    Escape: () => focusRow(item?.key),
  });
  // An answered item may leave the list before its request ends.
  const lastAt = useRef(0);
  if (at >= 0) lastAt.current = at;
  const next = at >= 0 ? (items[at + 1] ?? items[at - 1]) : (items[lastAt.current] ?? items.at(-1));

  return (
    <Page title="Inbox" actions={<NoticeButton />}>
      {error && <FailureNotice error={error} />}
      {!isRead && !error && <Skeleton lines={6} />}
      {isRead && items.length === 0 && !isOver && (
        <Empty icon={<InboxIcon />} title="Nothing waits for you">
          <p>
            Answer questions of threads, decide about failed steps of plans, and confirm plans here.
          </p>
        </Empty>
      )}
      {(item || items.length > 0) && (
        <div className="grid grid-cols-[20rem_minmax(0,1fr)] items-start gap-6 max-lg:grid-cols-[minmax(0,1fr)]">
          <nav
            aria-label="Waiting"
            className={`sticky top-below max-h-[calc(100dvh-4rem)] overflow-y-auto max-lg:static max-lg:max-h-none ${opened === undefined ? "" : "max-lg:hidden"}`}
          >
            <ol ref={list} className="flex flex-col divide-y">
              {items.map((one) => (
                <Row key={one.key} item={one} isShown={one.key === chosen} />
              ))}
            </ol>
            {isMore && <p className="p-3 text-muted">More follow when these are answered.</p>}
          </nav>
          <div
            ref={pane}
            className={`panel min-w-0 ${opened === undefined ? "max-lg:hidden" : ""}`}
          >
            <div className="p-3 lg:hidden">
              <ButtonLink to="/inbox" icon={<ArrowLeft />}>
                To the list
              </ButtonLink>
            </div>
            {item ? (
              <Shown key={item.key} item={item} isOver={isOver} onSent={() => answered(item)} />
            ) : (
              <Empty title="This no longer waits for you" />
            )}
          </div>
        </div>
      )}
    </Page>
  );
}

/** The item, or its last state after it left the inbox, so that another item does not take its place. */
function useLast(item: InboxItem | null, key: string | null): InboxItem | null {
  const last = useRef(item);
  if (item !== null || last.current?.key !== key) last.current = item;
  return last.current;
}

function Row({ item, isShown }: { item: InboxItem; isShown: boolean }) {
  const { key, subject, text, from, at } = item;
  const now = useNow(10_000);
  return (
    <li
      className={`relative flex flex-col px-3 py-2 hover:bg-hover ${isShown ? "lg:bg-accent-soft" : ""}`}
    >
      <div className="flex items-baseline gap-2">
        <Link
          to="/inbox"
          search={{ item: key }}
          resetScroll={false}
          data-key={key}
          aria-current={isShown ? "true" : undefined}
          className="stretched min-w-0 flex-1 truncate font-semibold text-ink"
        >
          {subject}
        </Link>
        {at !== null && (
          <time
            dateTime={new Date(at).toISOString()}
            title={moment(at)}
            className="flex-none text-small text-muted"
          >
            {ago(at, now)}
          </time>
        )}
      </div>
      {text !== "" && <p className="truncate text-muted">{text}</p>}
      <p className="truncate text-small text-muted">{from}</p>
    </li>
  );
}

type ShownProps = { item: InboxItem; isOver: boolean; onSent: () => void };

function Shown({ item, isOver, onSent }: ShownProps) {
  const { kind, subject } = item;
  const plan = kind === "plan" ? item.plan.id : kind === "decision" ? item.wanted.workflowId : null;
  return (
    <section aria-label={`${plan === null ? "Question" : "Plan"}: ${subject}`}>
      <h2 className="px-4 pt-4 text-title wrap-anywhere">
        <Link
          to={plan === null ? "/threads/$id" : "/plans/$id"}
          params={{ id: plan ?? (kind === "question" ? item.thread.threadId : "") }}
          className="text-ink"
        >
          {subject}
        </Link>
      </h2>
      {kind === "question" ? (
        <ThreadQuestion item={item} isOver={isOver} onSent={onSent} />
      ) : kind === "plan" ? (
        <Plan id={item.plan.id} isOver={isOver} onSent={onSent} />
      ) : (
        <div className="p-4">
          <StepDecision wanted={item.wanted} isOver={isOver} onSent={onSent} />
        </div>
      )}
    </section>
  );
}

type QuestionProps = Omit<ShownProps, "item"> & { item: InboxItem & { kind: "question" } };

function ThreadQuestion({ item, isOver, onSent }: QuestionProps) {
  const { threadId, steps } = item.thread;
  const query = useQuery(stepsQuery(threadId, steps, 1));
  return (
    <Loaded query={query} lines={4}>
      {({ steps: [step] }) =>
        step?.role === "__wait__" ? (
          <Question threadId={threadId} step={step} asked={0} isOver={isOver} onAnswered={onSent} />
        ) : (
          <p className="p-4 text-muted">This thread asks no question.</p>
        )
      }
    </Loaded>
  );
}

function Plan({ id, isOver, onSent }: Omit<ShownProps, "item"> & { id: string }) {
  const query = useQuery(planQuery(id));
  return (
    <div className="p-4">
      <Loaded query={query} lines={5}>
        {(plan) => <PlanConfirmation plan={plan} isOver={isOver} onSent={onSent} />}
      </Loaded>
    </div>
  );
}

function NoticeButton() {
  const { state, toggle } = useNoticeChoice();
  if (state === "none") return null;
  if (state === "blocked") {
    return <p className="self-center text-small text-muted">The browser blocks notifications.</p>;
  }
  const isOn = state === "on";
  return (
    <Button
      icon={isOn ? <Bell /> : <BellOff />}
      title={
        isOn
          ? "Switch notifications off"
          : "Show a notification of the browser when something new waits"
      }
      aria-pressed={isOn}
      onClick={toggle}
    >
      {isOn ? "Notifications are on" : "Notify me"}
    </Button>
  );
}
