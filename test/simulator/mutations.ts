import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A defect that is planted: in a source file some texts are replaced when it is loaded. */
export type Mutation = {
  name: string;
  /** The defect of an earlier version that it brings back, or what it leaves out. */
  what: string;
  file: string;
  edits: [find: string, replace: string][];
  /** A seed that finds it. */
  seed: number;
  scope?: "workers";
};

const top = join(import.meta.dir, "../..");

export const mutations: readonly Mutation[] = [];

/** The text of a mutated file. @throws Error when what it replaces is not there exactly once. */
export function mutated({ name, file, edits }: Mutation): string {
  let text = readFileSync(join(top, file), "utf8");
  for (const [find, replace] of edits) {
    if (text.split(find).length !== 2)
      throw new Error(`${name}: ${file} does not have once: ${find}`);
    text = text.replace(find, () => replace);
  }
  return text;
}

/** Has a file loaded as it is mutated. Nothing of the product may be loaded yet. */
export function mutate(name: string): void {
  const mutation = mutations.find((one) => one.name === name);
  if (!mutation) throw new Error(`there is no mutation ${name}`);
  const contents = mutated(mutation);
  const path = join(top, mutation.file);
  Bun.plugin({
    name: "mutation",
    setup(build) {
      const filter = new RegExp(`${path.replaceAll(/[.]/g, "\\.")}$`);
      build.onLoad({ filter }, () => ({ contents, loader: "ts" }));
    },
  });
}
