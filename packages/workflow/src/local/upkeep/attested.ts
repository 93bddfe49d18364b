import { join } from "node:path";
import { messageOf } from "../../contract/error.ts";
import { maxBundleSize } from "../../disk/bundle-files.ts";
import { diskError, systemCode } from "../../disk/disk-error.ts";
import { readOwnFile } from "../../disk/files.ts";
import { type LogOutline, outlineLog } from "../../disk/log.ts";
import {
  blobsDir,
  bundlePath,
  dataPath,
  journalPath,
  mapPath,
  type Root,
} from "../../disk/paths.ts";
import { openRoot } from "../../disk/root.ts";
import { blobIdOf, isBlobId } from "../../record/blob-names.ts";
import { sha256 } from "../../record/sha256.ts";
import { sumText } from "../../record/sum.ts";
import type { StatedRecords, Statement } from "./attestation.ts";
import { digestLines, digestMap, locatorDigits, threadFacts } from "./digests.ts";

/**
 * The comparison of one part of a statement with the storage root. `missing`: the part's file does not exist. `line`
 * counts from 1.
 */
export type Check = {
  part: string;
  result: "holds" | "differs" | "missing" | "unknown";
  path?: string;
  line?: number;
  message?: string;
};

type Found = Omit<Check, "part">;

const holds = (message?: string): Found => ({ result: "holds", ...(message && { message }) });
const missing = (path: string): Found => ({ result: "missing", path });
const differs = (path: string, message: string, line?: number): Found => ({
  ...{ result: "differs", path, message },
  ...(line !== undefined && { line }),
});

/** Compares a statement with a storage root. Reads only files whose paths follow from hash and thread id. */
export function checkStatement(folder: string, { subject, predicate }: Statement): Check[] {
  const root = openRoot({ path: folder });
  const { hash, threadId } = predicate.thread;
  const [data, journal] = [dataPath(root, hash, threadId), journalPath(root, hash, threadId)];
  const isOf = (path: string) => (one: { name: string }) => join(root, one.name) === path;
  const records = (path: string, stated: StatedRecords): Found => {
    const named = subject.find(isOf(path));
    if (!named) return differs(path, "this file is missing from the subjects of the statement");
    return checkLines(path, { ...stated, sha256: named.digest.sha256 });
  };
  const checks: Check[] = [];
  const check = (part: string, path: string, act: () => Found | Found[]) => {
    for (const found of attempted(path, act)) checks.push({ part, ...found });
  };
  check("bundle", bundlePath(root, hash), () => checkBundle(root, predicate));
  check("sources", mapPath(root, hash), () => checkSources(root, predicate));
  check("log", data, () => records(data, predicate.log));
  check("log head", data, () => checkHead(data, predicate.log));
  check("thread", data, () => checkThread(data, predicate.thread));
  const { journal: stated } = predicate;
  if (stated) check("journal", journal, () => records(journal, stated));
  if (predicate.blobs.length > 0)
    check("blobs", blobsDir(root, hash, threadId), () => checkBlobs(root, predicate));
  return checks;
}

/** Reports an unreadable file as changed. */
function attempted(path: string, act: () => Found | Found[]): Found[] {
  try {
    return [act()].flat();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [missing(path)];
    const message = messageOf(diskError(error, "read", path));
    return [differs(path, message.replace(/^(can't read )?(\/[^:]+): /, ""))];
  }
}

type Predicate = Statement["predicate"];

function checkBundle(root: Root, { bundle, thread: { hash } }: Predicate): Found {
  const path = bundlePath(root, hash);
  const bytes = readOwnFile(path, maxBundleSize);
  if (bytes === null) return missing(path);
  return sha256(bytes) === bundle.digest.sha256 ? holds() : differs(path, "the file has changed");
}

function checkSources(root: Root, { sourceMap, sources, thread: { hash } }: Predicate): Found[] {
  const path = mapPath(root, hash);
  if (sourceMap === null) return [holds("no source map was stored")];
  const found = digestMap(root, hash);
  if (found === null) return [missing(path)];
  if (found.sha256 === sourceMap.digest.sha256) return [holds(`${sources.length} in ${path}`)];
  if (found.sources === null) return [differs(path, "not a source map")];
  const changed = sources.flatMap(({ name, digest }, n) => {
    const now = found.sources?.[n];
    if (now?.name === name && now.digest?.sha256 === digest?.sha256) return [];
    return [differs(path, `the source ${name} has changed`)];
  });
  return changed.length > 0 ? changed : [differs(path, "the map has changed, but not its sources")];
}

function checkLines(path: string, stated: StatedRecords & { sha256: string }): Found {
  const found = digestLines(path);
  if (found === null) return missing(path);
  if (found.sha256 === stated.sha256) return holds(counted(stated.records, "record"));
  const [was, now] = [locatorsIn(stated.lines), locatorsIn(found.lines)];
  const at = was.findIndex((one, n) => one !== now[n]);
  const added = now.length - was.length;
  if (at < 0 && added > 0)
    return differs(path, `${counted(added, "record")} added`, was.length + 1);
  if (at < 0) return differs(path, "the end of the file has changed", was.length);
  if (at === now.length)
    return differs(path, `the last ${counted(-added, "record")} missing`, at + 1);
  if (!was.some((one, n) => one === now[n]))
    return differs(path, "another log: none of its records are attested", 1);
  if (was[at + 1] === now[at]) return differs(path, "a record is missing before this one", at + 1);
  if (was[at] === now[at + 1]) return differs(path, "this record was added", at + 1);
  return differs(path, "this record has changed", at + 1);
}

const counted = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

const locatorsIn = (lines: string): string[] =>
  lines.match(new RegExp(`.{${locatorDigits}}`, "g")) ?? [];

const sumOf = ({ sum }: LogOutline): string | null => (sum === null ? null : sumText(sum));

/** Follows the chain of checksums to its head. */
function checkHead(path: string, { head }: StatedRecords): Found {
  const log = outlineLog(path);
  if (log.kind === "empty") return differs(path, "no records", 1);
  if (log.broken) return differs(path, log.broken.reason, log.broken.line);
  if (log.kind === "headless") return differs(path, "no start record", 1);
  const now = sumOf(log);
  return now === head ? holds(head ?? "none") : differs(path, `the head is ${now}, not ${head}`);
}

/** Compares the log's facts about the thread. */
function checkThread(path: string, stated: Predicate["thread"]): Found {
  const log = outlineLog(path);
  const first = digestLines(path)?.first ?? "";
  if (log.kind !== "empty" && log.broken)
    return { result: "unknown", message: `the log is damaged at line ${log.broken.line}` };
  const found = log.kind === "thread" ? threadFacts(log, first) : null;
  if (found === null) return differs(path, "the log has no end record");
  const keys = Object.keys(stated) as (keyof typeof stated)[];
  const changed = keys.filter((key) => !Bun.deepEquals(found[key], stated[key]));
  if (changed.length > 0) return differs(path, `the log differs in ${changed.join(", ")}`);
  return holds(`${stated.status}, ${counted(stated.steps, "step")}`);
}

function checkBlobs(root: Root, { blobs, thread: { hash, threadId } }: Predicate): Found[] {
  const folder = blobsDir(root, hash, threadId);
  const problems = blobs.flatMap(({ name, digest }) => {
    const id = name.slice(name.lastIndexOf("/") + 1);
    const path = join(folder, id);
    if (!isBlobId(id)) return [differs(folder, "a name in the statement is not the id of a blob")];
    return attempted(path, () => {
      const bytes = readOwnFile(path, largestBlob);
      if (bytes === null) return missing(path);
      const isWhole = sha256(bytes) === digest.sha256 && blobIdOf(bytes) === id;
      return isWhole ? [] : differs(path, "the file has changed");
    });
  });
  return problems.length > 0 ? problems : [holds(counted(blobs.length, "file"))];
}

const largestBlob = 256 << 20;
