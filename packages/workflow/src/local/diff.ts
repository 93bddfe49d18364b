import { type ThreadDiff, threadDiff } from "../host/diff.ts";
import type { Root } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { readView } from "./threads.ts";

export const diffThreads = async (root: Root, a: ThreadRef, b: ThreadRef): Promise<ThreadDiff> =>
  threadDiff(await readView(root, a), await readView(root, b));
