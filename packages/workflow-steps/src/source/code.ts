import type { WorkflowDocument } from "../document/document.ts";
import { canonicalText } from "./canonical.ts";
import type { Gathered } from "./gather.ts";
import { type Needed, neededBy } from "./needed.ts";

/** The packages that the code imports. */
export const packageName = "@uncaged/workflow-steps";
export const adaptersName = `${packageName}/adapters`;

/**
 * The module of a bundle that runs a document and those that it runs: its source, which is the same for
 * the same documents. It imports no adapter that they do not use.
 */
export function moduleCode({ document, subflows }: Gathered): string {
  const needed = neededBy([document, ...subflows.values()]);
  const docs = Object.assign({}, ...[...subflows.values(), document].map(docsOf)) as object;
  const adapters = adaptersOf(needed, docs);
  const options = [
    "isChecked: true",
    ...(subflows.size > 0 ? [`subflows: ${subflowsText(subflows)}`] : []),
    ...(adapters.length > 0 ? [`adapters: ${factory(adapters.map(({ text }) => text))}`] : []),
  ];
  const names = adapters.flatMap(({ uses }) => uses);
  return [
    `import { stepsBundle } from ${JSON.stringify(packageName)};`,
    ...(names.length > 0 ? [importOf(names)] : []),
    `const document = ${parsed(canonicalText(document))};`,
    `export const { run, descriptor } = stepsBundle(document, { ${options.join(", ")} });`,
    "",
  ].join("\n");
}

const docsOf = ({ registry }: WorkflowDocument): object => registry.docs ?? {};

// As a text: an object literal would give `__proto__` a meaning, and takes longer to read.
const parsed = (json: string): string => `JSON.parse(${JSON.stringify(json)})`;

const importOf = (names: string[]): string =>
  `import { ${[...new Set(names)].toSorted().join(", ")} } from ${JSON.stringify(adaptersName)};`;

function subflowsText(subflows: Gathered["subflows"]): string {
  const entries = [...subflows].map(
    ([path, document]) => `[${JSON.stringify(path)}, ${parsed(canonicalText(document))}]`,
  );
  return `Object.fromEntries([${entries.join(", ")}])`;
}

// What needs a directory is there when the thread has one.
const factory = (adapters: string[]): string =>
  `(options, steps) => { const { cwd, env } = options; return { ${adapters.join(", ")} }; }`;

const inFolder = (name: string, call: string): string =>
  `...(cwd !== undefined && { ${name}: ${call} })`;

type Adapter = { text: string; uses: string[] };

function adaptersOf(needed: Needed, docs: object): Adapter[] {
  const models = needed.models.map((name) => `${name}Models`);
  const tools = needed.modelTools ? ", tools: stepTools()" : "";
  const list = models.map((name) => `${name}()`).join(", ");
  const all: (Adapter | false)[] = [
    models.length > 0 && {
      text: `llm: modelAdapter({ models: [${list}], options, steps${tools} })`,
      uses: ["modelAdapter", ...models, ...(needed.modelTools ? ["stepTools"] : [])],
    },
    needed.file && { text: inFolder("file", "fileAdapter({ cwd })"), uses: ["fileAdapter"] },
    needed.doc && {
      text: inFolder("doc", `docAdapter({ cwd, docs: ${parsed(JSON.stringify(docs))} })`),
      uses: ["docAdapter"],
    },
    needed.api && { text: "api: apiAdapter()", uses: ["apiAdapter"] },
    needed.tool && {
      text: inFolder("tool", "toolAdapter(stepTools(), { cwd, env })"),
      uses: ["toolAdapter", "stepTools"],
    },
  ];
  return all.filter((adapter) => adapter !== false);
}
