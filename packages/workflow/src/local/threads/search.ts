import { WAIT } from "../../contract/contract.ts";
import { scanLog } from "../../disk/log.ts";
import { dataPath, type Root } from "../../disk/paths.ts";
import type { ThreadRef } from "../../record/thread.ts";

/** What of one field is searched: it is for finding a thread, and not for reading it. */
const mostOfField = 4_000;
const mostRoles = 100;
const mostWords = 16;

/** The words that a thread must have, all of them. */
export const wordsOf = (search: string): string[] =>
  search.toLowerCase().split(/\s+/).filter(Boolean).slice(0, mostWords);

export const hasWords = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word));

/** What a thread is searched by, in lower case, a line each field; of a log that is none its id. */
export function searchText(root: Root, { hash, threadId }: ThreadRef): string {
  const roles = new Set<string>();
  let question = "";
  const log = scanLog(dataPath(root, hash, threadId), ({ role, content }) => {
    if (roles.size < mostRoles) roles.add(role);
    question = role === WAIT ? content : "";
  });
  if (log.kind !== "thread") return threadId.toLowerCase();
  const { start, end } = log;
  const { prompt, params } = start.parameters;
  const { name: error, code } = end?.meta.error ?? {};
  const fields = [threadId, start.name, hash, [...roles].join(" "), prompt, params, question];
  return [...fields, end?.content, error, code].flatMap(fieldOf).join("\n").toLowerCase();
}

function fieldOf(value: unknown): string[] {
  if (value === undefined || value === "") return [];
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return [text.slice(0, mostOfField).replace(/\s+/g, " ")];
}
