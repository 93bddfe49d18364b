import { pauseThread, resumeThread } from "./resume.ts";
import { killThread } from "./kill.ts";
import type { ThreadCommand } from "../host/host.ts";
import type { Root } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";

/** @see Host.control */
export async function control(
  root: Root,
  ref: ThreadRef,
  command: ThreadCommand,
): Promise<{ threadId: string; resumed?: string[] }> {
  switch (command.kind) {
    case "pause":
      return await pauseThread(root, ref);
    case "resume":
      return await resumeThread(root, ref, { env: command.env, durability: command.durability });
    case "answer": {
      const { env, durability, input } = command;
      return await resumeThread(root, ref, { env, durability, input });
    }
    case "kill":
      return await killThread(root, ref, { force: command.force, env: command.env });
  }
}
