import type { Step } from "@uncaged/workflow";
import { type Host, isWorkflowError, type Observed, type ThreadRef } from "@uncaged/workflow/host";
import { type Channel, ChannelRefusal, reasonOf, type Sent } from "../channel/channel.ts";
import { terminalJid } from "../channel/terminal.ts";
import { cut } from "../plan/cut.ts";
import type { Workflow } from "../plan/plan.ts";
import { threadIdOf } from "../plan/terms.ts";
import { longestNoticeMs, type NoticePosition, positionIn } from "../home/notice.ts";
import type { Plans, PlanView } from "../home/plans.ts";
import type { RunRow } from "../store/rows.ts";
import { findThread } from "../runs/thread-log.ts";
import type { FailureQuestion } from "../state/record.ts";
import { failureOf, shortName } from "./step-decisions.ts";

export type NoticesOptions = {
  plans: Plans;
  host: Host;
  channels: () => readonly Channel[];
  log: (line: string) => void;
  now?: () => number;
  /** Called to store a question that a chat was asked, with its topic. */
  onAsked?: (channel: Channel, jid: string, asked: Sent & { about: string }) => void;
};

/** Sends texts to the chat of a plan's owner. A text with a topic waits for an answer. */
type Reader = {
  channel: Channel;
  jid: string;
  send: (text: string, about?: string | null) => Promise<void>;
};

/** A notice to the owner of a plan, and the topic of an answer to it. */
type Notice = { text: string; about: string | null };

const keyOf = ({ channel, jid }: Omit<Reader, "send">): string => `${channel.name} ${jid}`;

/** The pause of a chat after a failure or a refusal, in milliseconds. */
const rests = { failed: 1_000, refused: 60_000 };
const longestRest = 3_600_000;
const textRefused = "A notice could not be shown here. /status shows the current state.";

/** The stored position of a fully reported run. */
const over = "over";

/**
 * Reports the events of plans to the chats of their owners. Reads committed records, and moves the position after
 * sending. So each notice is sent at least once, even after a crash or while a channel is down.
 */
export class Notices {
  readonly #options: NoticesOptions;
  #seen = "";
  #isBusy = false;
  #sending: Promise<void> = Promise.resolve();
  /** The time of the next attempt for each chat whose last notice failed. */
  readonly #resting = new Map<string, { until: number; failures: number }>();

  constructor(options: NoticesOptions) {
    this.#options = options;
  }

  /** Sends new notices. Does not read logs if the database is unchanged and no run is open. */
  send(): Promise<void> {
    this.#sending = this.#sending.then(() =>
      this.#pass().catch((error: unknown) => this.#options.log(`notices: ${reasonOf(error)}`)),
    );
    return this.#sending;
  }

  async #pass(): Promise<void> {
    const { plans } = this.#options;
    const seen = plans.changeCounter();
    if (seen === this.#seen && !this.#isBusy) return;
    const since = new Date(this.#now() - longestNoticeMs).toISOString();
    const runs = plans.runs({ since });
    const byPlan = Map.groupBy(runs, ({ workflow_id }) => workflow_id);
    const ids = new Set([...byPlan.keys(), ...this.#pendingPlans()]);
    let isAllSent = true;
    for (const id of ids) {
      const isSent = await this.#report(id, byPlan.get(id) ?? []).catch((error: unknown) => {
        this.#options.log(`notices of ${id}: ${reasonOf(error)}`);
        return false;
      });
      isAllSent &&= isSent;
    }
    this.#isBusy = !isAllSent || runs.some(({ status }) => status === "running");
    this.#seen = seen;
  }

  #pendingPlans(): string[] {
    const first = "metadata_json ->> '$.notices.pending[0].at'";
    const pending = `iif(json_valid(metadata_json), ${first}, NULL) IS NOT NULL`;
    return this.#options.plans.database
      .rows<{ id: string }>(`SELECT id FROM workflows WHERE ${pending}`)
      .map(({ id }) => id);
  }

  /** Sends the new notices about one plan. Returns false if its channel is down. */
  async #report(id: string, runs: readonly RunRow[]): Promise<boolean> {
    const workflow = this.#find(id);
    if (!workflow) return true;
    const reader = this.#readerOf(workflow);
    if (!reader) return true;
    const resting = this.#resting.get(keyOf(reader));
    if (!reader.channel.isConnected() || (resting && resting.until > this.#now())) return false;
    for (const notice of positionIn(workflow.metadata).pending) {
      if (this.#isRecent(notice.at)) await reader.send(`**${workflow.name}**: ${notice.text}`);
      // Another process may already have sent this notice and started the next notice.
      await this.#move(id, ({ pending, runs: all }) => ({
        runs: all,
        pending: pending.filter((one) => one.id !== notice.id),
      }));
    }
    for (const run of runs) await this.#reportRun(workflow, run, reader);
    return true;
  }

  #find(id: string): Workflow | null {
    try {
      return this.#options.plans.get(id);
    } catch (error) {
      // The plan was removed.
      if (isWorkflowError(error)) return null;
      throw error;
    }
  }

  /** Returns the reader for a plan's owner if this process has that channel. */
  #readerOf({ metadata }: Workflow): Reader | null {
    const { channel: name = "", chatJid = terminalJid } = metadata?.owner ?? {};
    const wanted = name === "tui" ? "terminal" : name;
    const channel = this.#options.channels().find((one) => one.name === wanted);
    if (!channel) return null;
    const send = async (text: string, about: string | null = null): Promise<void> => {
      const clean = this.#clean(text);
      if (about === null) return void (await channel.sendMessage(chatJid, clean));
      const sent = await channel.sendQuestion(chatJid, clean);
      this.#options.onAsked?.(channel, chatJid, { ...sent, about });
    };
    const reader = { channel, jid: chatJid };
    return { ...reader, send: (text, about) => this.#patiently(reader, () => send(text, about)) };
  }

  /**
   * Sends a notice. The pause of an unreachable chat grows with each failure. A refused text is not sent again; the
   * chat gets a message about the refusal.
   */
  async #patiently(reader: Omit<Reader, "send">, send: () => Promise<void>): Promise<void> {
    const key = keyOf(reader);
    try {
      await send();
      this.#resting.delete(key);
    } catch (error) {
      if (error instanceof ChannelRefusal && error.of === "text") {
        this.#options.log(`a notice is not sent again: ${error.message}`);
        return void (await reader.channel.sendMessage(reader.jid, textRefused));
      }
      const failures = (this.#resting.get(key)?.failures ?? 0) + 1;
      const isRefused = error instanceof ChannelRefusal;
      const times = isRefused ? 2 ** (failures - 1) : failures - 1;
      const ms = Math.min(isRefused ? rests.refused * times : rests.failed * times, longestRest);
      this.#resting.set(key, { until: this.#now() + ms, failures });
      throw error;
    }
  }

  async #reportRun(workflow: Workflow, run: RunRow, reader: Reader): Promise<void> {
    const from = positionIn(workflow.metadata).runs[run.id];
    if (from === over) return;
    const items = await this.#newItems(run, from);
    let position = from;
    for (const [at, item] of items.entries()) {
      const notice = await this.#noticeOf(workflow, run, item, items[at + 1]);
      if (notice && this.#isRecent(timeOf(item))) await reader.send(notice.text, notice.about);
      position = item.kind === "end" ? over : item.cursor;
      if (notice) await this.#moveRun(workflow.id, run.id, position);
    }
    if (items.length === 0 && run.status !== "running") {
      const notice = await this.#noticeOf(workflow, run, null, undefined);
      if (notice && this.#isRecent(Date.parse(run.completed_at ?? "")))
        await reader.send(notice.text, notice.about);
      position = over;
    }
    if (position !== undefined && position !== from)
      await this.#moveRun(workflow.id, run.id, position);
  }

  /** Returns the records of a run's thread after a position, without the copies of a retry. */
  async #newItems(run: RunRow, from: string | undefined): Promise<Observed[]> {
    const { host } = this.#options;
    const ref: ThreadRef | null = await findThread(host, threadIdOf(run.id));
    if (!ref) return [];
    const items: Observed[] = [];
    try {
      for await (const item of host.observe(ref, from, { until: "now", events: false })) {
        if (item.kind === "step" || item.kind === "end") items.push(item);
      }
    } catch (error) {
      if (!isWorkflowError(error)) throw error;
      this.#options.log(`notices of ${run.id}: ${error.message}`);
    }
    const begun = Date.parse(run.started_at);
    return items.filter((item) => item.kind === "end" || timeOf(item) >= begun);
  }

  /** Returns the notice about a record of a run's thread, or without a record about the run's end. */
  async #noticeOf(
    workflow: Workflow,
    run: RunRow,
    item: Observed | null,
    next: Observed | undefined,
  ): Promise<Notice | null> {
    if (item?.kind === "step") {
      const isAnswered = next?.kind === "step" || next?.kind === "end";
      return stepNotice(workflow, run.id, item.step, isAnswered);
    }
    const { runs } = await this.#options.plans.show(workflow.id);
    const ended = runs.find(({ id }) => id === run.id);
    const text = ended ? endText(workflow, ended) : null;
    return text === null ? null : { text, about: ended?.status === "failed" ? run.id : null };
  }

  #isRecent(at: number): boolean {
    return this.#now() - at <= longestNoticeMs;
  }

  async #moveRun(workflowId: string, runId: string, position: string): Promise<void> {
    const since = new Date(this.#now() - longestNoticeMs).toISOString();
    const known = new Set(this.#options.plans.runs({ since, workflowId }).map(({ id }) => id));
    await this.#move(workflowId, ({ pending, runs }) => {
      const kept = Object.entries(runs).filter(([id]) => known.has(id));
      return { pending, runs: { ...Object.fromEntries(kept), [runId]: position } };
    });
  }

  async #move(
    workflowId: string,
    change: (position: NoticePosition) => NoticePosition,
  ): Promise<void> {
    await this.#options.plans.updateMetadata(workflowId, (metadata) => ({
      ...metadata,
      notices: change(positionIn(metadata)),
    }));
  }

  #clean(text: string): string {
    return this.#options.plans.secrets.hidden(text);
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

const timeOf = (item: Observed): number => {
  if (item.kind === "step") return item.step.timestamp;
  return item.kind === "end" ? item.end.timestamp : 0;
};

const longestOutput = 3_000;

/** Returns the notice to the owner about a record; null if the record is not reported. */
function stepNotice(
  { name }: Workflow,
  runId: string,
  { content, meta, role }: Step,
  isAnswered: boolean,
): Notice | null {
  if (meta.event === "notice") return { text: `**${name}**, ${role}: ${content}`, about: null };
  if (role !== "__wait__" || meta.for !== "step_failure" || isAnswered) return null;
  const { error, stepId, token } = meta as FailureQuestion;
  const about = failureOf({ runId, token });
  const how = `Answer retry, skip or abort (or /answer ${shortName(about)} and one of these).`;
  return { text: `**${name}**: the step ${stepId} has failed: ${error}\n${how}`, about };
}

/** Returns the notice to the owner about an ended run: its outputs, or its failures. Null while the run is open. */
function endText(workflow: Workflow, run: PlanView["runs"][number]): string | null {
  const { id, name, steps, trigger } = workflow;
  if (run.status === "running") return null;
  if (run.status === "failed") {
    const how = trigger.type === "manual" ? `\nRepeat the failed steps with /retry ${id}.` : "";
    return `**${name}** has failed: ${run.error ?? "unknown reason"}${how}`;
  }
  const needed = new Set(steps.flatMap(({ depends_on }) => depends_on));
  const outputs = run.steps.flatMap(({ output_json, step_id }) => {
    const isLast = steps.some((step) => step.id === step_id) && !needed.has(step_id);
    const output = isLast && output_json !== null ? String(JSON.parse(output_json)) : "";
    if (output.trim() === "") return [];
    const shown = output.length > longestOutput ? `${cut(output, longestOutput)}…` : output;
    return [`${step_id}:\n${shown}`];
  });
  return [`**${name}** has completed.`, ...outputs].join("\n");
}
