import { scanLog } from "../../disk/log.ts";
import { dataPath, type Root } from "../../disk/paths.ts";
import { SearchText } from "../../record/search.ts";
import type { ThreadRef } from "../../record/thread.ts";

/** The searchable text of a thread; its id when the log can't be read. */
export function searchText(root: Root, { hash, threadId }: ThreadRef): string {
  const text = new SearchText();
  const log = scanLog(dataPath(root, hash, threadId), (step) => text.add(step));
  return log.kind === "thread" ? text.of(log.start, log.end) : threadId.toLowerCase();
}
