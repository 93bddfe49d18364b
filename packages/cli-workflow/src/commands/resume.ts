import { terminalUser } from "@uncaged/workflow/internal";
import type { ThreadRef } from "@uncaged/workflow/host";
import { answerFor, callDecision, type DecisionOptions } from "../arguments/decision.ts";
import { forEachThread, noteOrphans } from "../arguments/names.ts";
import { type StartOptions, startOptions } from "../arguments/options.ts";
import { inputOf } from "../arguments/values.ts";
import { exitCodes } from "../output/exit-code.ts";
import { leftText } from "../output/recovered.ts";
import { count, oneLine } from "../output/text.ts";
import { isConfirmed } from "../arguments/question.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { afterStart } from "../follow/started.ts";
import { defineCommand } from "../session/command.ts";
import { oneThreadOnly } from "../arguments/errors.ts";

type Options = StartOptions &
  DecisionOptions & { input?: string; token?: string; interrupted?: boolean; yes?: boolean };

/** Resumes interrupted threads that need no confirmation, and lists all other interrupted threads. */
async function resumeInterrupted(
  session: Session,
  { yes, durability, ...others }: Options,
  ids: string[],
): Promise<number> {
  const hasOther = Object.keys(others).some((name) => name in ofOneThread);
  if (ids.length > 0 || hasOther) {
    throw wrongUse("--interrupted takes no thread and no answer", "leave out one of them");
  }
  const { env, host } = session;
  const found = await host.recover({ env, durability, dryRun: true });
  for (const one of found.left) session.note(leftText(one));
  if (found.resumed.length === 0) {
    session.show(found, () => "");
    session.note("no thread to resume");
    return exitCodes.done;
  }
  for (const { threadId, workflow } of found.resumed) {
    session.note(`interrupted: ${threadId} of ${oneLine(workflow)}`);
  }
  const question = `resume ${count(found.resumed.length, "thread")} of ${session.hostName}?`;
  if (!(await isConfirmed(session, question, yes))) return exitCodes.failed;
  const only = found.resumed.map(({ threadId }) => threadId);
  const done = await host.recover({ env, durability, only });
  session.show({ ...done, left: [...found.left, ...done.left] }, () =>
    done.resumed.map(({ threadId }) => `resumed ${threadId}\n`).join(""),
  );
  for (const one of done.left) session.note(leftText(one));
  return done.left.length > 0 ? exitCodes.failed : exitCodes.done;
}

const ofOneThread = { input: 0, token: 0, approve: 0, edit: 0, refuse: 0, wait: 0, follow: 0 };

export default defineCommand({
  declare(command) {
    command
      .argument("[ids...]", "the threads, or @last")
      .option(
        "--interrupted",
        "resume all threads that were interrupted within the last day, after a confirmation",
      )
      .option("--yes", "with --interrupted: resume without a confirmation")
      .option("--input <text>", "answer a waiting thread: JSON or text; - reads it from stdin")
      .option("--approve", "approve the thread's question: an approval, or a tool call")
      .option(
        "--edit <json>",
        "approve the call with this input instead of the model's input, or @file",
      )
      .option("--refuse <reason>", "reject the approval or the tool call, with a reason")
      .option("--token <token>", "the question's token: an answer to another question is refused");
    startOptions(command);
  },
  examples: [
    "uncaged-workflow resume @last --follow",
    "uncaged-workflow resume @last --input '{\"approved\":true}'",
    "uncaged-workflow resume @last --approve --follow",
    "uncaged-workflow resume 01KQXKW1 --token 5f0c2d --input yes",
    "uncaged-workflow resume --interrupted",
  ],
  async run(session, options: Options, ids: string[]) {
    if (options.interrupted) return await resumeInterrupted(session, options, ids);
    if (ids.length === 0) {
      throw wrongUse(
        "missing a thread",
        "name it, or resume all that were interrupted: --interrupted",
      );
    }
    const decision = await callDecision(options, options.input);
    const answer = decision ? undefined : await inputOf(options.input, options.token);
    // With this id the answer counts only once, even if the worker dies and another worker gets the same request.
    const requestId = crypto.randomUUID();
    const { env, host } = session;
    const given = { env, durability: options.durability };
    const resume = async (ref: ThreadRef) => {
      const view = decision || answer ? await host.read(ref) : null;
      const answered = view && decision ? answerFor(view, decision, options.token) : answer;
      if (!answered) return await host.control(ref, { kind: "resume", ...given });
      // Without the number, an answer to a thread that does not wait yet could answer a later question.
      const question = view?.steps.length;
      const input = { ...answered, meta: { ...answered.meta, requestId }, by: terminalUser() };
      return await host.control(ref, { kind: "answer", input, question, ...given });
    };
    if (options.wait || options.follow) {
      const [id = "", ...others] = ids;
      if (others.length > 0) throw oneThreadOnly();
      const ref = await host.find(id);
      noteOrphans(session, await resume(ref));
      const { threadId, workflow, hash } = await host.read(ref);
      return await afterStart(session, options, { threadId, workflow, hash });
    }
    const paused = new Set<string>();
    return await forEachThread(
      session,
      ids,
      async (ref) => {
        const done = await resume(ref);
        noteOrphans(session, done);
        // A thread that was removed in the meantime counts as resumed.
        const view = (answer ?? decision) && (await host.read(ref).catch(() => null));
        if (view?.status === "paused") paused.add(ref.threadId);
        return done;
      },
      ({ threadId }) =>
        paused.has(threadId)
          ? `answered ${threadId}; it is paused, continue it: uncaged-workflow resume ${threadId}`
          : `resumed ${threadId}`,
    );
  },
});
