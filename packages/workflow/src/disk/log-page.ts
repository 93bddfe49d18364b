import type { LogName, LogPage } from "../store/store.ts";
import { LineFile } from "./line-file.ts";
import { dataPath, infoPath, journalPath, type Root } from "./paths.ts";
import { badFilePosition } from "./errors.ts";

const pageBytes = 1024 * 1024;

/** Functions that return the paths of a thread's logs. */
export const logPath: Record<LogName, (root: Root, hash: string, threadId: string) => string> = {
  data: dataPath,
  journal: journalPath,
  events: infoPath,
};

/** Reads a page of whole lines of a log, starting at a cursor. @throws WorkflowError `BAD_POSITION` */
export function readPage(path: string, cursor?: string): LogPage {
  const file = new LineFile(path);
  const from = cursor === undefined ? 0 : positionOf(cursor, file);
  const lines: string[] = [];
  let bytes = 0;
  let end = from;
  for (const line of file.forward(from, [])) {
    if (bytes > 0 && bytes + line.bytes.length > pageBytes) {
      return { lines, cursor: String(end), isEnd: false };
    }
    lines.push(line.bytes.toString("utf8"));
    bytes += line.bytes.length + 1;
    end = line.position;
  }
  return { lines, cursor: String(end), isEnd: true };
}

function positionOf(cursor: string, file: LineFile): number {
  const position = /^\d{1,15}$/.test(cursor) ? Number(cursor) : -1;
  if (position >= 0 && file.endsAt(position)) return position;
  throw badFilePosition(cursor, file.path);
}
