/** A record of a log, as the auditor parses it. */
export type Commit = {
  isEnd: boolean;
  /** Number of the record within its workflow; null for a record of the engine. */
  n: number | null;
  requestId: string | null;
  /** Whether the record replaces an answer that did not arrive in time. */
  isWaking: boolean;
  /** Time at which a sleeping thread is due, in milliseconds since the epoch. */
  dueAt: number | null;
  isUnsynced: boolean;
  /** Error of a failed thread. No workflow should fail. */
  failure: string | null;
};

type Json = Record<string, unknown>;

/** Returns the records of complete lines; null when a line is not a record. */
export function parseLog(bytes: Buffer, isFromStart: boolean): Commit[] | null {
  const commits: Commit[] = [];
  for (const line of bytes.toString("utf8").split("\n").slice(0, -1)) {
    const commit = parseLine(line, isFromStart && commits.length === 0);
    if (!commit) return null;
    commits.push(commit);
  }
  return commits;
}

function parseLine(line: string, isStart: boolean): Commit | null {
  try {
    const { role, content, meta, parameters } = JSON.parse(line) as {
      role?: string;
      content?: string;
      meta?: Json;
      parameters?: Json;
    };
    const options = parameters?.options as Json | undefined;
    if (isStart) return options ? { ...plain, isUnsynced: options.unsynced === true } : null;
    if (typeof role !== "string" || !meta) return null;
    const { n, requestId, timedOut, expiresAt } = meta;
    return {
      ...plain,
      isEnd: role === "__end__",
      n: typeof n === "number" ? n : null,
      requestId: typeof requestId === "string" ? requestId : null,
      isWaking: role === "__input__" && timedOut === true,
      dueAt: role === "__wait__" && typeof expiresAt === "number" ? expiresAt : null,
      failure: role === "__end__" && meta.reason === "failed" ? String(content) : null,
    };
  } catch {
    return null;
  }
}

const plain: Commit = {
  isEnd: false,
  n: null,
  requestId: null,
  isWaking: false,
  dueAt: null,
  isUnsynced: false,
  failure: null,
};

/** Returns the hash of a bundle's path; null for any other path. */
export const bundleOf = (path: string): string | null =>
  /\/bundles\/([0-9A-Z]{13})\.esm\.js$/.exec(path)?.[1] ?? null;

/** Returns the thread of an entry in `due/`; null for any other path. */
export function dueThreadOf(path: string): { hash: string; threadId: string } | null {
  const [, hash, threadId] = /\/due\/\d+\/\d+\.([0-9A-Z]{13})\.([0-9A-Z]{26})$/.exec(path) ?? [];
  return hash && threadId ? { hash, threadId } : null;
}

/** Returns the registrations in a registry's text, each as `name hash`. */
export function registered(text: string): Set<string> {
  const found = new Set<string>();
  let name = "";
  for (const line of text.split("\n")) {
    name = /^ {2}"?([^ ":]+)"?:$/.exec(line)?.[1] ?? name;
    const hash = /hash: "([0-9A-Z]{13})"$/.exec(line)?.[1];
    if (hash) found.add(`${name} ${hash}`);
  }
  return found;
}
