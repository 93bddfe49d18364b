import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import MiniSearch from "minisearch";
import { z } from "zod";
import { noDocs } from "./errors.ts";
import { clipped } from "./size.ts";
import { defineTool } from "./tool.ts";

const text = z.string();

/** Returns the folder of the documents: in this repository, or next to the packed program. */
function docsFolder(): string {
  const path = import.meta.url.endsWith(".ts") ? "../../../../docs" : "./docs";
  return fileURLToPath(new URL(path, import.meta.url));
}

/** A section of a page of the documents. `page` is its path without an extension. */
type Section = { id: number; page: string; title: string; heading: string; text: string };

/** A page of the documents. */
export type Page = { page: string; title: string };

export const uriOf = (page: string): string => `uncaged://docs/${page}`;

const pagesGlob = new Bun.Glob("{tutorial,guides,reference,explanation,coming-from}/*.md");

class Docs {
  readonly pages: Page[];
  readonly #folder: string;
  readonly #sections: Section[] = [];
  readonly #index = new MiniSearch<Section>({
    fields: ["title", "heading", "text"],
    searchOptions: {
      boost: { title: 2, heading: 3 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.15 : false),
    },
  });

  constructor(folder: string) {
    if (!existsSync(folder)) throw noDocs();
    this.#folder = folder;
    const paths = [...pagesGlob.scanSync(folder)].toSorted();
    this.pages = paths.map((path) => {
      const page = path.replace(/\.md$/, "");
      const sections = sectionsOf(readFileSync(join(folder, path), "utf8"));
      const title = sections[0]?.heading ?? page;
      for (const section of sections) {
        this.#sections.push({ id: this.#sections.length, page, title, ...section });
      }
      return { page, title };
    });
    this.#index.addAll(this.#sections);
  }

  /** Returns the best sections for a query, best first. */
  search(query: string, limit: number): Section[] {
    const all = this.#index.search(query, { combineWith: "AND" });
    const found = all.length > 0 ? all : this.#index.search(query);
    return found.slice(0, limit).map(({ id }) => this.#sections[id as number] as Section);
  }

  /** Returns the text of a page; null for an unknown page. */
  read(page: string): string | null {
    const isKnown = this.pages.some((one) => one.page === page);
    return isKnown ? readFileSync(join(this.#folder, `${page}.md`), "utf8") : null;
  }
}

/** Splits a page at its headings. Ignores headings in code blocks. */
function sectionsOf(page: string): { heading: string; text: string }[] {
  const sections: { heading: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of page.split("\n")) {
    if (/^(```|~~~)/.test(line)) isCode = !isCode;
    const [, heading] = (isCode ? null : /^#{1,4} (.+)$/.exec(line)) ?? [];
    if (heading !== undefined) sections.push({ heading: heading.replaceAll("`", ""), lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ heading, lines }) => ({ heading, text: lines.join("\n").trim() }));
}

let loaded: Docs | null = null;

/** Returns the documents, read at the first call. @throws WorkflowError `NO_DOCS` (missing). */
export const docs = (): Docs => (loaded ??= new Docs(docsFolder()));

const mostExcerpt = 1_500;

/** Returns the lines of a section from shortly before the first line with a word of the query. */
function excerptOf(section: string, query: string): string {
  const words = query.toLowerCase().split(/\W+/).filter(Boolean);
  const lines = section.split("\n");
  const first = lines.findIndex((line) => words.some((word) => line.toLowerCase().includes(word)));
  return clipped(lines.slice(Math.max(0, first - 2)).join("\n"), mostExcerpt);
}

export const searchDocs = defineTool({
  name: "search_docs",
  title: "Search the documents",
  description:
    "Searches the guides and the reference of uncaged-workflow. Read a whole page as the resource of its `uri`.",
  input: z.strictObject({
    query: text.min(1).max(300),
    limit: z.int().min(1).max(10).default(5),
  }),
  output: z.strictObject({
    results: z.array(z.strictObject({ page: text, heading: text, uri: text, excerpt: text })),
  }),
  kind: "reads",
  run(_, { query, limit }) {
    const results = docs()
      .search(query, limit)
      .map(({ page, heading, text: section }) => ({
        ...{ page: `docs/${page}.md`, heading, uri: uriOf(page) },
        excerpt: excerptOf(section, query),
      }));
    const lines = results.map(({ page, heading }) => `${page}: ${heading}`);
    const found = lines.length === 0 ? "no page matches" : lines.join("\n");
    return Promise.resolve({ data: { results }, text: found });
  },
});
