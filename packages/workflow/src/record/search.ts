import { type Step, WAIT } from "../contract/contract.ts";
import type { EndRecord, StartRecord } from "./record.ts";

/** Maximum number of characters of each field that a search covers. */
const mostOfField = 4_000;
const mostRoles = 100;
const mostWords = 16;

/** Returns the words of a search. A thread must have all words. */
export const wordsOf = (search: string): string[] =>
  search.toLowerCase().split(/\s+/).filter(Boolean).slice(0, mostWords);

export const hasWords = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word));

/** The searchable text of a thread, in lower case, one line per field. Steps are added in order. */
export class SearchText {
  readonly #roles = new Set<string>();
  #question = "";

  add({ role, content }: Pick<Step, "role" | "content">): void {
    if (this.#roles.size < mostRoles) this.#roles.add(role);
    this.#question = role === WAIT ? content : "";
  }

  of({ name, hash, threadId, parameters }: StartRecord, end: EndRecord | null): string {
    const { prompt, params } = parameters;
    const { name: error, code } = end?.meta.error ?? {};
    const fields = [threadId, name, hash, [...this.#roles].join(" "), prompt, params];
    const all = [...fields, this.#question, end?.content, error, code];
    return all.flatMap(fieldOf).join("\n").toLowerCase();
  }
}

function fieldOf(value: unknown): string[] {
  if (value === undefined || value === "") return [];
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return [text.slice(0, mostOfField).replace(/\s+/g, " ")];
}
