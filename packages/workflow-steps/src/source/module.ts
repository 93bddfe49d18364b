import { WorkflowError } from "@uncaged/workflow";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { getStepType, type StepType } from "../document/document.ts";
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
 *
 * @param warn gets each warning of the check, with file, line and column
 * @throws WorkflowError from `module`: `STEPS_INVALID` with all violations in `details`,
 * `SUBFLOW_MISSING`, `SUBFLOW_CYCLE`, `SUBFLOW_TOO_DEEP`.
 * @example await addWorkflow(root, "review", "flow.json", { sources: [stepsSource(console.warn)] });
 */
export function stepsSource(warn: (warning: string) => void): StepsSource {
  const checked = (text: string, file: string) => {
    const { document, warnings } = checkedDocument(text, file);
    for (const warning of [...warnings, ...unserved(document, file)]) warn(warning);
    return document;
  };
  return {
    matches: (file) => /\.(json|ya?ml)$/i.test(file),
    async module(text, file) {
      const gathered = await gather(checked(text, file), file, async (path, step, by) => {
        const child = join(dirname(file), path);
        return checked(await readChild(child, step, join(dirname(file), by)), child);
      });
      return { code: moduleCode(gathered), resolve: ownFiles() };
    },
  };
}

async function readChild(path: string, step: string, by: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    throw new WorkflowError(
      {
        code: "SUBFLOW_MISSING",
        kind: "failed",
        message: `${by}: ${step}: the workflow ${path} can't be read`,
        hint: "a literal workflow_path is relative to the file that names it",
      },
      { cause },
    );
  }
}

// Packed, this file may stand in the dist of a program that depends on the package.
function ownFiles(): Record<string, string> {
  if (import.meta.url.endsWith(".ts")) {
    return { [packageName]: sibling("index"), [adaptersName]: sibling("adapters") };
  }
  const installed = (name: string) => Bun.resolveSync(name, import.meta.dir);
  return { [packageName]: installed(packageName), [adaptersName]: installed(adaptersName) };
}

const sibling = (entryPoint: string): string =>
  fileURLToPath(new URL(`../${entryPoint}.ts`, import.meta.url));

/** The packages that the code imports. */
const packageName = "@uncaged/workflow-steps";
const adaptersName = `${packageName}/adapters`;

/**
 * The module of a bundle that runs a document and those that it runs: its source, which is the same for
 * the same documents. It imports no adapter that they do not use.
 */
function moduleCode({ document, subflows }: Gathered): string {
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

/** Which of the default adapters workflows use; `models` are the providers that their models may be of. */
type Needed = {
  file: boolean;
  doc: boolean;
  api: boolean;
  tool: boolean;
  /** Whether a model is given tools. */
  modelTools: boolean;
  models: ("anthropic" | "openai")[];
};

/** What these workflows need, judged by their steps. What is computed may be anything. */
function neededBy(documents: readonly WorkflowDocument[]): Needed {
  const steps = documents.flatMap((document) => document.steps);
  const calls = steps.filter((step) => !runsWorkflow(step));
  const typed = (type: StepType) => calls.filter((step) => getStepType(step) === type);
  const asking = typed("LLM");
  const has = (name: string) => asking.some((step) => inputsOf(step)[name] !== undefined);
  const providers = new Set(asking.flatMap(providersOf));
  return {
    file: steps.some(usesFiles),
    doc: has("docs"),
    api: typed("API").length > 0 || typed("Download").length > 0,
    tool: typed("Tool").length > 0,
    modelTools: has("tools"),
    models: (["anthropic", "openai"] as const).filter((name) => providers.has(name)),
  };
}

const fileTypes = new Set<string | null>(["Write", "Download", "Unzip"]);

function usesFiles(step: StepDocument): boolean {
  if (fileTypes.has(getStepType(step))) return true;
  if (runsWorkflow(step) && literalPath(step) === null) return true;
  const targets = typeof step.out === "string" ? [step.out] : Object.keys(step.out ?? {});
  return targets.some((target) => target.startsWith("/"));
}

const inputsOf = (step: StepDocument): Record<string, unknown> => step.in ?? step.input ?? {};

/** The providers whose models a step may call: one when it is written down, else both. */
function providersOf(step: StepDocument): Needed["models"] {
  const { provider = step.provider, model = step.model } = inputsOf(step);
  const name = literal(provider) ?? prefixOf(literal(model));
  if (name === "anthropic" || name === "openai") return [name];
  if (provider === undefined && /^claude\b/i.test(literal(model) ?? "")) return ["anthropic"];
  return ["anthropic", "openai"];
}

const literal = (value: unknown): string | null =>
  typeof value === "string" && !value.startsWith("=") ? value : null;

const prefixOf = (model: string | null): string | null =>
  model?.includes("/") ? (model.split("/", 1)[0] ?? null) : null;

const servedByPrograms = new Set<string | null>(["Service", "Component"]);

/** A warning for each step that only a program's own adapter can carry out: a file brings none along. */
function unserved({ steps }: WorkflowDocument, file: string): string[] {
  return steps
    .filter((step) => servedByPrograms.has(getStepType(step)))
    .map((step) => {
      const name = String(getStepType(step)).toLowerCase();
      return `${file}: ${step.id}: a workflow added from a file has no adapter ${name}: build it with stepsBundle`;
    });
}

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
  Object.fromEntries(
    Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  );
