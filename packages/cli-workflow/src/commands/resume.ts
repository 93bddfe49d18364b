import {
  findThread,
  readThread,
  resumeThread,
  type Root,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
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
  const { env, root } = session;
  const { durability } = options;
  if (options.wait || options.follow) {
    const ref = await findThread(root, onlyOf(ids));
    await resumeThread(root, ref, { env, durability, input });
    const { threadId, workflow, hash } = await readThread(root, ref);
    return await afterStart(session, options, { threadId, workflow, hash });
  }
  const paused = new Set<string>();
  return await forEachThread(
    session,
    ids,
    async (ref) => {
      const done = await resumeThread(root, ref, { env, durability, input });
      if (input && (await isPaused(root, ref))) paused.add(ref.threadId);
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
async function isPaused(root: Root, ref: ThreadRef): Promise<boolean> {
  const view = await readThread(root, ref).catch(() => null);
  return view?.status === "paused";
}
