import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { KnownTools } from "../check/subject.ts";
import { failure, getStepType, modelSides, type StepType } from "../document/document.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { literalPath, runsWorkflow } from "../outline/outline.ts";
import { checkedDocument, gather, type Gathered } from "./source.ts";

/** A kind of source for `addWorkflow` and `buildSource` of `@uncaged/workflow/host`. */
export type StepsSource = {
  matches(file: string): boolean;
  module(text: string, file: string): Promise<{ code: string; resolve: Record<string, string> }>;
};

/**
 * Step workflows as sources of bundles: `.json`, `.yaml` and `.yml` files. A file is checked, and so are
 * those that its steps run by a literal path, relative to the file; all become one bundle, with the
 * default adapters that they use.
 * `warn` gets each warning of the check, with file, line and column. With `isClosed` no file outside of the
 * document's folder is read.
 *
 * @example await addWorkflow(root, "review", "flow.json", { sources: [stepsSource(console.warn)] });
 */
export function stepsSource(
  warn: (warning: string) => void,
  { isClosed = false }: { isClosed?: boolean } = {},
): StepsSource {
  const checked = (text: string, file: string) => {
    const { document, warnings } = checkedDocument(text, file, { tools: builtInTools });
    for (const warning of [...warnings, ...unserved(document, file)]) warn(warning);
    return document;
  };
  return {
    matches: (file) => /\.(json|ya?ml)$/i.test(file),
    async module(text, file) {
      const gathered = await gather(checked(text, file), file, async (path, step, by) => {
        const child = join(dirname(file), path);
        const parent = join(dirname(file), by);
        if (isClosed && path.startsWith("../")) throw unreadable(child, step, parent);
        return checked(await readChild(child, step, parent), child);
      });
      return { code: moduleCode(gathered), resolve: ownFiles() };
    },
  };
}

async function readChild(path: string, step: string, by: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    throw unreadable(path, step, by, cause);
  }
}

const unreadable = (path: string, step: string, by: string, cause?: unknown) =>
  failure(
    "SUBFLOW_MISSING",
    `${by}: ${step}: the workflow ${path} can't be read`,
    "a literal workflow_path is relative to the file that names it",
    { cause },
  );

const packageName = "@uncaged/workflow-steps";
const adaptersName = `${packageName}/adapters`;

// Packed, this file may stand in the dist of a program that depends on the package.
function ownFiles(): Record<string, string> {
  const isSource = import.meta.url.endsWith(".ts");
  const fileOf = (name: string, entryPoint: string) =>
    isSource
      ? fileURLToPath(new URL(`../${entryPoint}.ts`, import.meta.url))
      : Bun.resolveSync(name, import.meta.dir);
  return {
    [packageName]: fileOf(packageName, "index"),
    [adaptersName]: fileOf(adaptersName, "adapters"),
  };
}

/** The source of a bundle: the same for the same documents, with no adapter that they do not use. */
function moduleCode({ document, subflows }: Gathered): string {
  const made = adaptersFor([...subflows.values(), document]);
  const children = [...subflows].map(
    ([path, child]) => `[${JSON.stringify(path)}, ${parsed(canonicalText(child))}]`,
  );
  const options = [
    "isChecked: true",
    children.length > 0 && `subflows: Object.fromEntries([${children.join(", ")}])`,
    // What needs a directory is there when the thread has one.
    made.length > 0 &&
      `adapters: (options, steps) => { const { cwd, env } = options; return { ${made.join(", ")} }; }`,
  ];
  return [
    `import { stepsBundle } from ${JSON.stringify(packageName)};`,
    ...(made.length > 0 ? [`import * as adapters from ${JSON.stringify(adaptersName)};`] : []),
    `const document = ${parsed(canonicalText(document))};`,
    `export const { run, descriptor } = stepsBundle(document, { ${options.filter(Boolean).join(", ")} });`,
    "",
  ].join("\n");
}

// As a text: an object literal would give `__proto__` a meaning, and takes longer to read.
const parsed = (json: string): string => `JSON.parse(${JSON.stringify(json)})`;

/** The default adapters that workflows use, each as the code of a property. */
function adaptersFor(documents: readonly WorkflowDocument[]): string[] {
  const steps = documents.flatMap((document) => document.steps);
  const calls = steps.filter((step) => !runsWorkflow(step));
  const calling = (...types: StepType[]) =>
    calls.filter((step) => types.some((type) => type === getStepType(step)));
  const asking = calling("LLM");
  const gives = (name: string) => asking.some((step) => inputsOf(step)[name] !== undefined);
  const models = [...new Set(asking.flatMap(providersOf))].toSorted();
  const providers = models.map((name) => `adapters.${name}Models()`).join(", ");
  const tools = gives("tools") ? ", tools: adapters.stepTools()" : "";
  const docs = JSON.stringify(Object.assign({}, ...documents.map((one) => one.registry.docs)));
  const inFolder = (name: string, call: string) =>
    `...(cwd !== undefined && { ${name}: adapters.${call} })`;
  return [
    models.length > 0 &&
      `llm: adapters.modelAdapter({ models: [${providers}], options, steps${tools} })`,
    steps.some(usesFiles) && inFolder("file", "fileAdapter({ cwd })"),
    gives("docs") && inFolder("doc", `docAdapter({ cwd, docs: ${parsed(docs)} })`),
    calling("API", "Download").length > 0 && "api: adapters.apiAdapter()",
    calling("Tool").length > 0 &&
      inFolder("tool", "toolAdapter(adapters.stepTools(), { cwd, env })"),
  ].filter((code) => code !== false);
}

function usesFiles(step: StepDocument): boolean {
  if (["Write", "Download", "Unzip"].includes(String(getStepType(step)))) return true;
  if (runsWorkflow(step) && literalPath(step) === null) return true;
  const targets = typeof step.out === "string" ? [step.out] : Object.keys(step.out ?? {});
  return targets.some((target) => target.startsWith("/"));
}

const inputsOf = (step: StepDocument): Record<string, unknown> => step.in ?? step.input ?? {};

/** The providers whose models a step may call: one when it is written down, else both. */
function providersOf(step: StepDocument): string[] {
  const { provider = step.provider, model = step.model } = inputsOf(step);
  const name = literal(provider) || modelSides(literal(model))?.[0];
  if (name === "anthropic" || name === "openai") return [name];
  if (provider === undefined && /^claude\b/i.test(literal(model))) return ["anthropic"];
  return ["anthropic", "openai"];
}

const literal = (value: unknown): string =>
  typeof value === "string" && !value.startsWith("=") ? value : "";

const inputNames = {
  readFile: "file_path path offset limit",
  writeFile: "file_path path content",
  editFile: "file_path path old_string oldText new_string newText replace_all all",
  listFiles: "path pattern",
  search: "pattern path files ignoreCase plain",
  runCommand: "argv cwd input timeoutMs",
};

/** What a bundle that is made of a file has: by their documented names, and by their own. */
export const builtInTools: KnownTools = Object.fromEntries(
  Object.entries(inputNames).flatMap(([name, text]) => {
    const inputs = text.split(" ");
    const documented = name.charAt(0).toUpperCase() + name.slice(1);
    return [[documented, inputs] as const, [name, inputs] as const];
  }),
);

/** A warning for each step that only a program's own adapter can carry out: a file brings none along. */
const unserved = ({ steps }: WorkflowDocument, file: string): string[] =>
  steps.flatMap((step) => {
    const type = getStepType(step);
    if (type !== "Service" && type !== "Component") return [];
    const name = type.toLowerCase();
    return `${file}: ${step.id}: a workflow added from a file has no adapter ${name}: build it with stepsBundle`;
  });

/**
 * A document's text for a bundle: the same for every spacing and order of keys that mean nothing. The
 * order of the keys of `in`, `out` and other values is kept, for it is seen when the workflow runs.
 * `$schema` is for editors and is left out.
 */
function canonicalText(document: WorkflowDocument): string {
  const { $schema: _, registry, steps, ...rest } = document;
  return JSON.stringify(
    sorted({ ...rest, registry: sorted(registry), steps: steps.map((step) => sorted(step)) }),
  );
}

const sorted = (record: StepDocument | Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)));
