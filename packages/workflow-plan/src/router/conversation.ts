import { type Channel, reasonOf } from "../channel/channel.ts";
import { PlannerError } from "../error/error.ts";
import { planHash } from "../plan/hash.ts";
import type { Workflow } from "../plan/plan.ts";
import type { Planner } from "../planner/planner.ts";
import { newSession, type PlannerSession } from "../planner/session.ts";
import { Planning, type Turned } from "../planning/planning.ts";
import type { Plans } from "../home/plans.ts";
import { transcriptOf } from "../planner/transcript.ts";
import type { Chat } from "./chat.ts";

export type ConversationOptions = {
  plans: Plans;
  channel: Channel;
  chat: Chat;
  planner: () => Planner;
  log: (line: string) => void;
  now: () => number;
};

/** The planning in one chat: a session with the planner. Its plans are stored and shown for confirmation. */
export class Conversation {
  readonly #options: ConversationOptions;
  #planner: Planner | null = null;
  #kept: Planning | null = null;
  #session: PlannerSession | null = null;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** Tells whether the next text is for the planner: the planner has asked a question, or has not made a plan yet. */
  isOpen(): boolean {
    return this.#current()?.status === "conversing";
  }

  /** The topic of the planner's question while the session is open. */
  get about(): string {
    return this.#current()?.id ?? "";
  }

  /** Sends a line and repeats the planner's question. Returns false without a question. */
  async remind(lead: string): Promise<boolean> {
    const { channel, chat } = this.#options;
    const session = this.#current();
    const known = chat.state.questions[this.about];
    const text = known?.text ?? (session && lastTextIn(session));
    if (!session || !text) return false;
    const sent = await channel.sendQuestion(chat.jid, this.#clean(`${lead}\n${text}`));
    if (known) chat.remind(session.id, sent);
    else chat.ask(session.id, { ...sent, text: this.#clean(text) });
    return true;
  }

  /** Starts a new session with a request. */
  async begin(text: string): Promise<void> {
    this.#session = newSession();
    await this.#turn(this.#session, text);
  }

  /** Continues the open session. */
  async write(text: string): Promise<void> {
    const session = this.#current();
    await (session ? this.#turn(session, text) : this.begin(text));
  }

  /** Changes an existing plan. @throws ExecutorError, PlannerError */
  async change(id: string, text: string): Promise<void> {
    const current = this.#current();
    const isOfThis = current?.workflow?.id === id;
    this.#session = isOfThis ? current : this.#planning().sessionAbout(id);
    await this.#turn(this.#session, text);
  }

  /** Shows a plan, and asks for its confirmation. */
  async ask(workflow: Workflow): Promise<void> {
    const { channel, chat, now } = this.#options;
    const { id: workflowId } = workflow;
    const hash = planHash(workflow);
    // An answer must not confirm a plan that was not shown yet, or that cannot be shown.
    chat.ask(workflowId, { ids: [], order: null });
    const sent = await channel.sendConfirmation(chat.jid, this.#clean(workflow));
    const asked = { workflowId, planHash: hash, at: now(), wants: "answer" as const };
    chat.ask(workflowId, { ...sent, planHash: hash }, { asked });
  }

  /** Stops the planner's current turn. */
  abort(): void {
    if (this.#session?.status === "conversing") this.#planner?.cancel(this.#session);
  }

  /** Ends the session. Returns false without a session. */
  async end(): Promise<boolean> {
    const session = this.#current();
    this.#session = null;
    if (session && session.status !== "cancelled") this.#plan().cancel(session);
    if (session?.workflow) await this.#dropDraft(session.workflow.id, session.id);
    this.#options.chat.set({ session: null, asked: null });
    return session !== null;
  }

  /** Discards the session's draft of a confirmed plan, unless the plan was removed. */
  async #dropDraft(id: string, session: string): Promise<void> {
    try {
      await this.#options.plans.dropDraft(id, session);
    } catch (error) {
      this.#options.log(reasonOf(error));
    }
  }

  /** Ends the session about a plan if this chat has that session. */
  async endOf(id: string): Promise<void> {
    const { asked } = this.#options.chat.state;
    if (this.#current()?.workflow?.id === id) await this.end();
    else if (asked?.workflowId === id) this.#options.chat.set({ asked: null });
  }

  #plan(): Planner {
    return (this.#planner ??= this.#options.planner());
  }

  #planning(): Planning {
    return (this.#kept ??= new Planning(this.#options.plans, this.#plan()));
  }

  /** Returns the chat's session, also after a restart. */
  #current(): PlannerSession | null {
    const id = this.#options.chat.state.session;
    if (id === null || this.#session?.id === id) return this.#session;
    try {
      this.#session = this.#plan().find(id);
    } catch (error) {
      this.#options.log(reasonOf(error));
      this.#options.chat.set({ session: null });
    }
    return this.#session;
  }

  async #turn(session: PlannerSession, text: string): Promise<void> {
    const { channel, chat } = this.#options;
    chat.set({ session: session.id, asked: null });
    const status = await this.#status("Planning…");
    await channel.setTyping?.(chat.jid, true).catch(this.#report);
    const { turn, workflow } = await this.#planned(session, text);
    await channel.setTyping?.(chat.jid, false).catch(this.#report);
    if (session.status === "cancelled") return await status("The planning was cancelled.");
    if (!workflow) {
      const isError = turn.type === "error";
      if (channel.editMessage)
        await status(isError ? "The planning has failed." : "The planner has answered.");
      return await this.#ask(session, isError ? `There is no plan: ${turn.content}` : turn.content);
    }
    await status("The plan is ready.");
    await this.ask(workflow);
  }

  /** Asks the planner's question in a separate message, because an edited message keeps the place of its first text. */
  async #ask({ id }: PlannerSession, question: string): Promise<void> {
    const { channel, chat } = this.#options;
    const text = this.#clean(question);
    const sent = await channel.sendQuestion(chat.jid, text).catch(this.#report);
    chat.ask(id, { ids: [], order: null, ...sent, text });
  }

  async #planned(session: PlannerSession, text: string): Promise<Omit<Turned, "session">> {
    try {
      return await this.#planning().turn(session, text);
    } catch (error) {
      if (!(error instanceof PlannerError)) throw error;
      const hint = error.hint ? ` (${error.hint})` : "";
      const turn = { type: "error" as const, content: `${error.message}${hint}` };
      return { turn, workflow: null };
    }
  }

  /** Sends a status line. Returns a function that replaces it, if the channel can edit messages. */
  async #status(text: string): Promise<(text: string) => Promise<void>> {
    const { channel, chat } = this.#options;
    const id = await channel.sendMessage(chat.jid, text).catch(this.#report);
    return async (next) => {
      const clean = this.#clean(next);
      const edited = id ? channel.editMessage?.(chat.jid, id, clean) : undefined;
      if (edited && (await this.#done(edited))) return;
      await this.#done(channel.sendMessage(chat.jid, clean));
    };
  }

  /** Runs work and returns whether it succeeded. Logs its error. */
  #done(work: Promise<unknown>): Promise<boolean> {
    return work.then(
      () => true,
      (error: unknown) => {
        this.#report(error);
        return false;
      },
    );
  }

  #clean<T>(value: T): T {
    return this.#options.plans.secrets.hidden(value);
  }

  readonly #report = (error: unknown): undefined => {
    this.#options.log(`${this.#options.channel.name}: ${reasonOf(error)}`);
  };
}

/** Returns the planner's last text, for a session of a version that did not store questions. */
const lastTextIn = (session: PlannerSession): string | undefined =>
  transcriptOf(session).findLast(({ by }) => by === "planner")?.text;
