import { type Host, type ThreadRef, WorkflowError } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { forEachThread } from "../arguments/names.ts";
import { inputOf } from "../arguments/values.ts";
import { type StartOptions, startOptions } from "../arguments/options.ts";
import { afterStart } from "../follow/started.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = StartOptions & { input?: string; token?: string };

export function define(command: Command, perform: Perform): void {
  command
    .argument("<ids...>", "the threads, or @last")
    .option("--input <text>", "answer a waiting thread: JSON or text; - reads it from stdin")
    .option("--token <token>", "the question's token: an answer to another question is refused");
  startOptions(command).action(perform(resume));
  examples(
    command,
    "uncaged-workflow resume @last --follow",
    "uncaged-workflow resume @last --input '{\"approved\":true}'",
    "uncaged-workflow resume 01KQXKW1 --token 5f0c2d --input yes",
  );
}

async function resume(session: Session, options: Options, ids: string[]): Promise<number> {
  const input = await inputOf(options.input, options.token);
  const { env, host } = session;
  const { durability } = options;
  const resumeThread = (ref: ThreadRef) =>
    host.control(
      ref,
      input ? { kind: "answer", input, env, durability } : { kind: "resume", env, durability },
    );
  if (options.wait || options.follow) {
    const ref = await host.find(onlyOf(ids));
    await resumeThread(ref);
    const { threadId, workflow, hash } = await host.read(ref);
    return await afterStart(session, options, { threadId, workflow, hash });
  }
  const paused = new Set<string>();
  return await forEachThread(
    session,
    ids,
    async (ref) => {
      const done = await resumeThread(ref);
      if (input && (await isPaused(host, ref))) paused.add(ref.threadId);
      return done;
    },
    ({ threadId }) =>
      paused.has(threadId)
        ? `answered ${threadId}; it is paused, continue it: uncaged-workflow resume ${threadId}`
        : `resumed ${threadId}`,
  );
}

function onlyOf([id = "", ...others]: string[]): string {
  if (others.length === 0) return id;
  throw new WorkflowError({
    code: "ONE_THREAD_ONLY",
    kind: "usage",
    message: "--wait and --follow take one thread",
    hint: "resume them without, and follow each: uncaged-workflow follow <id>",
  });
}

// A thread that was removed since counts as resumed.
async function isPaused(host: Host, ref: ThreadRef): Promise<boolean> {
  const view = await host.read(ref).catch(() => null);
  return view?.status === "paused";
}
