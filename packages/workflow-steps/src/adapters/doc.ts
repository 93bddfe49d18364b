import { readConfined } from "@uncaged/workflow-agents/interpreter";
import type { DocAdapter } from "../adapter/adapter.ts";
import { nullIfMissing } from "../adapter/error.ts";
import { noDocument } from "./errors.ts";

/** `docs` maps a document's id to its title, as in `registry.docs`. */
export type DocAdapterOptions = { cwd: string; docs?: Readonly<Record<string, string>> };

const endings = ["", ".md", ".txt"];

/**
 * Returns a `doc` adapter over files: document 7 is `docs/7`, `docs/7.md` or `docs/7.txt` under the run's directory. The
 * registry has the document's title, which defaults to its id.
 */
export function docAdapter({ cwd, docs = {} }: DocAdapterOptions): DocAdapter {
  return {
    get: async (ids) =>
      await Promise.all(
        ids.map(async (id) => {
          const title = Object.hasOwn(docs, String(id)) ? docs[String(id)] : undefined;
          return { id, title: title ?? String(id), text: await textOf(cwd, id) };
        }),
      ),
  };
}

async function textOf(cwd: string, id: number | string): Promise<string> {
  const name = String(id);
  for (const ending of /^[\w][\w .-]*$/.test(name) ? endings : []) {
    const path = `docs/${name}${ending}`;
    const read = await readConfined(cwd, path).catch(nullIfMissing);
    if (read !== null) return new TextDecoder().decode(read.bytes);
  }
  throw noDocument(name);
}
