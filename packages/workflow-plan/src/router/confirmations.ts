import { decisionOf } from "@uncaged/workflow/interpreter";
import { type Button, buttonHashLength } from "../channel/channel.ts";
import { planHash } from "../plan/hash.ts";
import type { Workflow } from "../plan/plan.ts";
import { answerMs, type Asked, type Standing } from "./chat.ts";
import { type Desk, reasons, type Received } from "./received.ts";

/** The answers to a confirmation, in addition to the general words of approval. */
const answers = new Map<string, Button["action"]>([
  ...(["y", "confirm", "1"] as const).map((word) => [word, "confirm"] as const),
  ...(["modify", "m", "2"] as const).map((word) => [word, "modify"] as const),
  ...(["n", "cancel", "3"] as const).map((word) => [word, "cancel"] as const),
]);

/** Parses a text as the answer to a confirmation; undefined for other text. */
export function actionOf(text: string): Button["action"] | undefined {
  // Ignore the punctuation at the end of a sentence.
  const word = text.replace(/[.!]+\s*$/, "");
  const approval = decisionOf(word)?.decision;
  if (approval) return approval === "approve" ? "confirm" : "cancel";
  return answers.get(word.toLowerCase());
}

/** The topic of the question for a change to a plan. */
const changeOf = (workflowId: string): string => `change of ${workflowId}`;

/** Handles a chat's answers about its shown plans: a button, a word, or a command. */
export class Confirmations {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Handles a text as the answer to a confirmation. Returns false for other text or a late answer. */
  async answer(received: Received, asked: Asked, text: string): Promise<boolean> {
    const { chat, message } = received;
    const isLate = this.#desk.now() - asked.at > answerMs;
    const action = actionOf(text);
    const { planHash: hash, wants, workflowId } = asked;
    const about = wants === "answer" ? workflowId : changeOf(workflowId);
    const standing = chat.standing(message, about);
    const decides = wants === "answer" && action !== undefined;
    if (!isLate) {
      const isChange = !decides && message.metadata?.order === undefined;
      if (standing !== "answer" && !isChange) await this.#refuse(received, asked, standing);
      else if (decides) await this.press(received, { action, workflowId, planHash: hash });
      else await this.#desk.conversationOf(received).change(workflowId, text);
      return true;
    }
    chat.set({ asked: null });
    if (!action) return false;
    await this.#desk.reply(
      received,
      `The question is more than ten minutes old. Confirm it with /confirm ${workflowId}, or look at it with /show ${workflowId}.`,
    );
    return true;
  }

  /** Asks again after an invalid answer. */
  async #refuse(
    received: Received,
    { wants, workflowId }: Asked,
    standing: Exclude<Standing, "answer">,
  ): Promise<void> {
    if (wants === "answer") return await this.#remind(received, workflowId, standing);
    const sent = await this.#desk.question(received, `${reasons[standing]} What should change?`);
    received.chat.remind(changeOf(workflowId), sent);
  }

  /** Runs the action of a button or of the equivalent word, for the shown version of a plan. */
  async press(received: Received, { action, planHash: hash, workflowId }: Button): Promise<void> {
    const { plans } = this.#desk;
    const { chat } = received;
    const id = plans.get(workflowId).id;
    const shown = plans.draft(id) ?? plans.get(id);
    if (!planHash(shown).startsWith(hash)) {
      const how = `/show ${id} shows it as it is now.`;
      return await this.#desk.reply(received, `This plan has changed. ${how}`);
    }
    if (action === "confirm") return await this.#confirm(received, id, hash);
    if (action === "modify") {
      const asked = {
        workflowId: id,
        planHash: hash,
        at: this.#desk.now(),
        wants: "change" as const,
      };
      const sent = await this.#desk.question(received, "What should change?");
      return chat.ask(changeOf(id), sent, { asked });
    }
    await plans.reject(id);
    chat.set({ asked: null, session: null });
    await this.#desk.reply(
      received,
      `${shown.name} is not confirmed. Change it with /modify ${id} TEXT, or remove it with /delete ${id}.`,
    );
  }

  /**
   * Confirms the plan with a hash or an id. If this chat was shown the plan before the command was written, the plan
   * must not have changed since. Otherwise the user has seen the plan elsewhere.
   */
  async confirmNamed(received: Received, named: string): Promise<void> {
    const { plans } = this.#desk;
    const { chat, message } = received;
    const exact = await this.#withHash(named);
    if (exact) return await this.#confirm(received, exact.id, named);
    const { id } = plans.get(named);
    const standing = chat.standing(message, id);
    const question = chat.state.questions[id];
    const isElsewhere = !question && message.metadata?.order !== undefined;
    if (isElsewhere || standing === "answer")
      return await this.#confirm(received, id, question?.planHash);
    await this.#remind(received, id, standing);
  }

  /**
   * Explains why a message does not decide about a plan, and how to confirm the plan. Shows the plan if the chat was
   * not shown it yet.
   */
  async #remind(
    received: Received,
    id: string,
    standing: Exclude<Standing, "answer">,
  ): Promise<void> {
    const { plans } = this.#desk;
    const { chat } = received;
    const { phase } = plans.get(id);
    const draft = plans.draft(id);
    const plan = draft ?? plans.get(id);
    if (!draft && phase !== "awaiting_confirmation") {
      chat.set({ asked: null });
      return await this.#desk.reply(
        received,
        `${plan.name} is ${phase}: there is nothing to confirm.`,
      );
    }
    const hash = planHash(plan);
    const isShown = chat.state.questions[id]?.planHash === hash;
    if (!isShown || standing === "unasked")
      return await this.#desk.conversationOf(received).ask(plan);
    const answer =
      standing === "unordered" ? "Confirm it" : "Answer yes, no or modify, or confirm it";
    const lines = [reasons[standing], `${plan.name} is not confirmed.`];
    const text = `${lines.join(" ")} ${answer} with /confirm ${hash.slice(0, buttonHashLength)}. /show ${id} shows it.`;
    chat.remind(id, await this.#desk.question(received, text));
  }

  async #confirm(received: Received, id: string, hash?: string): Promise<void> {
    const { plans } = this.#desk;
    const { phase, runId, workflowId } = await plans.confirm(id, hash ? { planHash: hash } : {});
    received.chat.set({ asked: null, session: null });
    const { name } = plans.get(workflowId);
    const what = runId === null ? `is ${phase}` : `runs now (${runId})`;
    await this.#desk.reply(received, `Confirmed: ${name} ${what}.`);
  }

  /** Returns the unconfirmed plan whose hash begins with a text, or null. */
  async #withHash(hash: string): Promise<Workflow | null> {
    if (!/^[0-9a-f]{8,64}$/.test(hash)) return null;
    const { plans } = this.#desk;
    const open = (await plans.list(() => {})).flatMap(
      (plan) => plans.draft(plan.id) ?? (plan.phase === "awaiting_confirmation" ? plan : []),
    );
    return open.find((plan) => planHash(plan).startsWith(hash)) ?? null;
  }
}
