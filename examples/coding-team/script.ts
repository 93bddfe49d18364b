import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scriptedAgent } from "@uncaged/workflow-agents";

/** Plays all roles without a model, on the repository created by make-repository.sh. */
export const script = scriptedAgent({
  "You plan": JSON.stringify({ parts: ["slug.mjs: slug()", "count.mjs: count()"] }),
  "You code": ({ cwd, start }) => {
    const name = start.content.startsWith("slug") ? "slug.mjs" : "count.mjs";
    writeFileSync(join(cwd, name), code[name]);
    return JSON.stringify({ changed: [name] });
  },
  "You review": JSON.stringify({ approved: true, fix: [] }),
});

const code = {
  "slug.mjs": `/** Returns a text in the form for a URL. */
export function slug(text) {
  return text.toLowerCase().match(/[a-z0-9]+/g)?.join("-") ?? "";
}
`,
  "count.mjs": `/** Counts how often each word of a text occurs. */
export function count(text) {
  const counts = new Map();
  for (const word of text.toLowerCase().match(/\\p{L}+/gu) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
}
`,
};
